#include <algorithm>

#include "acquire/search.h"
#include "acquire/utility.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

// Floats that the states of one search may take (1 GiB): bounds the candidates searched together.
constexpr std::size_t kValuesAtATime = std::size_t{1} << 28;

class Stap final : public StepChooser {
 public:
  explicit Stap(const StapOptions& options) : options_(options) {}

  std::string_view name() const override { return "stap"; }
  int members_needed() const override { return 2; }

  std::vector<Pattern> choose(Committee& committee, const Candidates& candidates,
                              std::span<const std::size_t> ids, const Rng& rng) const override {
    const auto pairs = ordered_pairs(committee.members());
    const std::size_t most = Utility::fitting(kValuesAtATime, committee, candidates.steps, pairs);
    std::vector<Pattern> patterns;
    for (std::size_t first = 0; first < ids.size(); first += most) {
      const auto group = ids.subspan(first, std::min(most, ids.size() - first));
      Utility utility(committee, candidates, group, pairs);
      for (Found& found : search(utility, group, options_.proposals, options_.epsilon, rng))
        patterns.push_back(std::move(found.pattern));
    }
    return patterns;
  }

 private:
  StapOptions options_;
};

}  // namespace

const config::Fields<StapOptions>& stap_fields() {
  static const config::Fields<StapOptions> fields{
      {"proposals", &StapOptions::proposals, "patterns tried per initial condition",
       config::at_least(0)},
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
