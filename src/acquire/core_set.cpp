#include "acquire/features.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class CoreSet final : public Selector {
 public:
  explicit CoreSet(const SketchOptions& options) : sketch_(options.sketch) {}

  std::string_view name() const override { return "core-set"; }
  bool needs_cpu() const override { return sketch_ != SketchKind::sparse; }

  Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
              const Rng&) const override {
    return take_greedily(make_feature_space(committee, candidates, sketch_), at_most,
                         [](const NearestCentres& nearest) {
                           return farthest(nearest, [](std::size_t) { return true; });
                         });
  }

 private:
  SketchKind sketch_;
};

}  // namespace

std::unique_ptr<Selector> make_core_set(const SketchOptions& options) {
  return std::make_unique<CoreSet>(options);
}

}  // namespace stap
