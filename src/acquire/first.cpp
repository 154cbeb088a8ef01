#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class First final : public StepChooser {
 public:
  std::string_view name() const override { return "first"; }

  std::vector<Pattern> choose(Committee&, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng&) const override {
    const Pattern first = Pattern(candidates.steps, true).first(1);
    return until_spent(candidates, ids, budget, [&](std::size_t) { return first; });
  }
};

}  // namespace

std::unique_ptr<StepChooser> make_first() {
  return std::make_unique<First>();
}

}  // namespace stap
