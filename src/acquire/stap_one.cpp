#include <algorithm>

#include "acquire/single_steps.h"
#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class StapOne final : public StepChooser {
 public:
  std::string_view name() const override { return "stap-one"; }
  int members_needed() const override { return 2; }

  // Every pattern is of one step, so it is known how many candidates the budget needs.
  std::vector<Pattern> choose(Committee& committee, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng&) const override {
    std::vector<Pattern> patterns;
    for (const BestStep& best : best_single_steps(
             committee, candidates, ids.first(std::min(candidates.payable(budget), ids.size())),
             [](std::size_t, std::size_t, double utility) { return utility; }))
      patterns.push_back(single_step(candidates.steps, best.step));
    return patterns;
  }
};

}  // namespace

std::unique_ptr<StepChooser> make_stap_one() {
  return std::make_unique<StapOne>();
}

}  // namespace stap
