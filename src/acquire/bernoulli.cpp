#include "acquire/bernoulli_draw.h"
#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class Bernoulli final : public StepChooser {
 public:
  explicit Bernoulli(const BernoulliOptions& options) : options_(options) {}

  std::string_view name() const override { return "bernoulli"; }

  std::vector<Pattern> choose(Committee&, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng& rng) const override {
    return until_spent(candidates, ids, budget, [&](std::size_t id) {
      return bernoulli_draw(candidates.steps, options_.p, id, rng);
    });
  }

 private:
  BernoulliOptions options_;
};

}  // namespace

const config::Fields<BernoulliOptions>& bernoulli_fields() {
  static const config::Fields<BernoulliOptions> fields{
      {"p", &BernoulliOptions::p, "probability that a step is bought", config::above(0).at_most(1)},
  };
  return fields;
}

std::unique_ptr<StepChooser> make_bernoulli(const BernoulliOptions& options) {
  config::read(bernoulli_fields(), config::to_value(bernoulli_fields(), options), "bernoulli");
  return std::make_unique<Bernoulli>(options);
}

}  // namespace stap
