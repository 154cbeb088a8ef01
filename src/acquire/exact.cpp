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
                              std::span<const std::size_t> ids, const Rng& rng) const override {
    const auto pairs = ordered_pairs(committee.members());
    const std::size_t most = Utility::fitting(kValuesAtATime, committee, candidates.steps, pairs);
    const std::size_t states =
        kValuesAtATime / std::max<std::size_t>(1, committee.grid().values() * candidates.steps);
    // Small batches learn early what is not worth a rollout, large ones are quicker per state.
    const std::size_t at_once = std::min(states, 8 * committee.rows_at_once());
    const StapOptions first_look;
    std::vector<Pattern> patterns;
    for (std::size_t first = 0; first < ids.size(); first += most) {
      const auto group = ids.subspan(first, std::min(most, ids.size() - first));
      Utility utility(committee, candidates, group, pairs);
      auto start = search(utility, group, first_look.proposals, first_look.epsilon, rng);
      for (Found& found :
           best_of_all(committee, candidates, group, utility, std::move(start), at_once))
        patterns.push_back(std::move(found.pattern));
    }
    return patterns;
  }
};

}  // namespace

std::unique_ptr<StepChooser> make_exact() {
  return std::make_unique<Exact>();
}

}  // namespace stap
