#include <vector>

#include "acquire/features.h"
#include "stap/acquire/methods.h"

namespace stap {

std::size_t farthest_of_heaviest(const NearestCentres& nearest) {
  std::vector<double> weight(nearest.centres(), 0.0);
  std::vector<char> has_candidates(nearest.centres(), 0);
  for (std::size_t c = 0; c < nearest.size(); ++c)
    if (!nearest.taken(c)) {
      weight[nearest.centre(c)] += nearest.distance2(c);
      has_candidates[nearest.centre(c)] = 1;
    }
  std::size_t heaviest = 0;
  double most = -1.0;
  for (std::size_t k = 0; k < weight.size(); ++k)
    if (has_candidates[k] && weight[k] > most) {
      most = weight[k];
      heaviest = k;
    }
  return farthest(nearest, [&](std::size_t c) { return nearest.centre(c) == heaviest; });
}

namespace {

class Lcmd final : public Selector {
 public:
  std::string_view name() const override { return "lcmd"; }

  Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
              const Rng&) const override {
    return take_greedily(make_feature_space(committee, candidates), at_most, farthest_of_heaviest);
  }
};

}  // namespace

std::unique_ptr<Selector> make_lcmd() {
  return std::make_unique<Lcmd>();
}

}  // namespace stap
