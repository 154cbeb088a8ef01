#include "acquire/search.h"

namespace stap {
namespace {

class StapMeanField final : public StepChooser {
 public:
  explicit StapMeanField(const StapOptions& options) : options_(options) {}

  std::string_view name() const override { return "stap-mf"; }
  // The mean of one member is that member: all utilities would be 0.
  int members_needed() const override { return 2; }

  std::vector<Pattern> choose(Committee& committee, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng& rng) const override {
    return searched_patterns(committee, candidates, ids, budget,
                             mean_field_pairs(committee.members()), options_, rng);
  }

 private:
  StapOptions options_;
};

}  // namespace

std::unique_ptr<StepChooser> make_stap_mf(const StapOptions& options) {
  config::read(stap_fields(), config::to_value(stap_fields(), options), "stap-mf");
  return std::make_unique<StapMeanField>(options);
}

}  // namespace stap
