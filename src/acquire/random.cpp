#include "acquire/ranking.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class Random final : public Selector {
 public:
  std::string_view name() const override { return "random"; }

  Order order(Committee&, const Candidates& candidates, std::size_t at_most,
              const Rng& rng) const override {
    const Rng noise = selection_noise(rng);
    std::vector<Ranked> ranked;
    for (std::size_t id : candidates.open) ranked.push_back({id, noise.uniform(id)});
    return {best_first(std::move(ranked), at_most), 0};
  }
};

}  // namespace

std::unique_ptr<Selector> make_random() {
  return std::make_unique<Random>();
}

}  // namespace stap
