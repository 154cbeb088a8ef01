#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class Every final : public StepChooser {
 public:
  explicit Every(const EveryOptions& options) : options_(options) {}

  std::string_view name() const override { return "every"; }

  std::vector<Pattern> choose(Committee&, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng&) const override {
    Pattern pattern(candidates.steps);
    for (std::size_t step = 0; step < candidates.steps; ++step)
      pattern.set(step, step % options_.k == 0);
    return until_spent(candidates, ids, budget, [&](std::size_t) { return pattern; });
  }

 private:
  EveryOptions options_;
};

}  // namespace

const config::Fields<EveryOptions>& every_fields() {
  static const config::Fields<EveryOptions> fields{
      {"k", &EveryOptions::k, "distance of the steps bought", config::between(1, 1e6), "steps"},
  };
  return fields;
}

std::unique_ptr<StepChooser> make_every(const EveryOptions& options) {
  config::read(every_fields(), config::to_value(every_fields(), options), "every");
  return std::make_unique<Every>(options);
}

}  // namespace stap
