#include <algorithm>

#include "acquire/search.h"
#include "acquire/tree.h"

namespace stap {
namespace {

class Exact final : public StepChooser {
 public:
  std::string_view name() const override { return "exact"; }
  int members_needed() const override { return 2; }
  // 2^16 patterns of a committee of five are 2.6 million states to advance, for one candidate.
  std::size_t steps_most() const override { return 16; }

  std::vector<Pattern> choose(Committee& committee, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng& rng) const override {
    const auto pairs = ordered_pairs(committee.members());
    const std::size_t most = Utility::fitting(kValuesAtATime, committee, candidates.steps, pairs);
    const std::size_t states =
        kValuesAtATime / std::max<std::size_t>(1, committee.grid().values() * candidates.steps);
    // Small batches learn early what is not worth a rollout, large ones are quicker per state.
    const std::size_t at_once = std::min(states, 8 * committee.rows_at_once());
    std::vector<Pattern> patterns;
    for (std::size_t spent = 0; spent < budget && patterns.size() < ids.size();) {
      // As many as are needed whatever they cost: one in vain is expensive here.
      const std::size_t sure = (budget - spent - 1) / (candidates.steps + candidates.warm_up) + 1;
      const auto group =
          ids.subspan(patterns.size(), std::min({sure, most, ids.size() - patterns.size()}));
      Utility utility(committee, candidates, group.size(), pairs);
      Utility* const only[] = {&utility};
      auto start = search(only, group, kNoLimit, StapOptions{}, rng);
      for (Found& found :
           best_of_all(committee, candidates, group, utility, std::move(start), at_once)) {
        spent += candidates.cost(found.pattern);
        patterns.push_back(std::move(found.pattern));
      }
    }
    return patterns;
  }
};

}  // namespace

std::unique_ptr<StepChooser> make_exact() {
  return std::make_unique<Exact>();
}

}  // namespace stap
