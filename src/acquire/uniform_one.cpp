#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class UniformOne final : public StepChooser {
 public:
  std::string_view name() const override { return "uniform-one"; }

  std::vector<Pattern> choose(Committee&, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng& rng) const override {
    return until_spent(candidates, ids, budget, [&](std::size_t id) {
      const Rng stream = rng.split("candidate", id).split("single");
      return single_step(candidates.steps, stream.below(0, candidates.steps));
    });
  }
};

}  // namespace

std::unique_ptr<StepChooser> make_uniform_one() {
  return std::make_unique<UniformOne>();
}

}  // namespace stap
