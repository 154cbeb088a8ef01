#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class Full final : public StepChooser {
 public:
  std::string_view name() const override { return "full"; }

  std::vector<Pattern> choose(Committee&, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng&) const override {
    const Pattern all(candidates.steps, true);
    return until_spent(candidates, ids, budget, [&](std::size_t) { return all; });
  }
};

}  // namespace

std::unique_ptr<StepChooser> make_full() {
  return std::make_unique<Full>();
}

}  // namespace stap
