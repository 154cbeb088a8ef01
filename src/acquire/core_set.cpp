#include "acquire/features.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class CoreSet final : public Selector {
 public:
  std::string_view name() const override { return "core-set"; }

  Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
              const Rng&) const override {
    return take_greedily(committee, candidates, at_most,
                         [](const NearestCentres& nearest, std::size_t count) {
                           std::size_t best = 0;
                           double largest = -1.0;
                           for (std::size_t c = 0; c < count; ++c)
                             if (!nearest.taken(c) && nearest.distance2(c) > largest) {
                               largest = nearest.distance2(c);
                               best = c;
                             }
                           return best;
                         });
  }
};

}  // namespace

std::unique_ptr<Selector> make_core_set() {
  return std::make_unique<CoreSet>();
}

}  // namespace stap
