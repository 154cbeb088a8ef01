#include "stap/acquire/methods.h"

namespace stap {
namespace {

class Full final : public StepChooser {
 public:
  std::string_view name() const override { return "full"; }

  std::vector<Pattern> choose(Committee&, const Candidates& candidates,
                              std::span<const std::size_t> ids, const Rng&) const override {
    return std::vector<Pattern>(ids.size(), Pattern(candidates.steps, true));
  }
};

}  // namespace

std::unique_ptr<StepChooser> make_full() {
  return std::make_unique<Full>();
}

}  // namespace stap
