#include "acquire/bernoulli_draw.h"
#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class InitialBernoulli final : public StepChooser {
 public:
  explicit InitialBernoulli(const BernoulliOptions& options) : options_(options) {}

  std::string_view name() const override { return "initial-bernoulli"; }

  std::vector<Pattern> choose(Committee&, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng& rng) const override {
    const Pattern all(candidates.steps, true);
    return until_spent(candidates, ids, budget, [&](std::size_t id) {
      return all.first(bernoulli_draw(candidates.steps, options_.p, id, rng).cost());
    });
  }

 private:
  BernoulliOptions options_;
};

}  // namespace

std::unique_ptr<StepChooser> make_initial_bernoulli(const BernoulliOptions& options) {
  config::read(bernoulli_fields(), config::to_value(bernoulli_fields(), options),
               "initial-bernoulli");
  return std::make_unique<InitialBernoulli>(options);
}

}  // namespace stap
