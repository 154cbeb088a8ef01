#include "acquire/features.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class CoreSet final : public Selector {
 public:
  std::string_view name() const override { return "core-set"; }

  Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
              const Rng&) const override {
    return take_greedily(make_feature_space(committee, candidates), at_most,
                         [](const NearestCentres& nearest) {
                           return farthest(nearest, [](std::size_t) { return true; });
                         });
  }
};

}  // namespace

std::unique_ptr<Selector> make_core_set() {
  return std::make_unique<CoreSet>();
}

}  // namespace stap
