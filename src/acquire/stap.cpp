#include "acquire/search.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class Stap final : public StepChooser {
 public:
  explicit Stap(const StapOptions& options) : options_(options) {}

  std::string_view name() const override { return "stap"; }
  int members_needed() const override { return 2; }

  std::vector<Pattern> choose(Committee& committee, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng& rng) const override {
    return searched_patterns(committee, candidates, ids, budget, ordered_pairs(committee.members()),
                             options_, rng);
  }

 private:
  StapOptions options_;
};

}  // namespace

const config::Fields<StapOptions>& stap_fields() {
  static const config::Fields<StapOptions> fields{
      {"proposals", &StapOptions::proposals, "patterns tried per initial condition",
       config::between(0, 1e9)},
      {"epsilon", &StapOptions::epsilon, "probability that a proposal flips a bit",
       config::between(0, 1)},
  };
  return fields;
}

std::unique_ptr<StepChooser> make_stap(const StapOptions& options) {
  // The field table is the one place that states ranges.
  config::read(stap_fields(), config::to_value(stap_fields(), options), "stap");
  return std::make_unique<Stap>(options);
}

}  // namespace stap
