#include "acquire/ranking.h"

#include <algorithm>
#include <cmath>

namespace stap {

std::vector<std::size_t> best_first(std::vector<Ranked> ranked, std::size_t at_most) {
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& x, const Ranked& y) {
    return x.key != y.key ? x.key > y.key : x.id < y.id;
  });
  ranked.resize(std::min(at_most, ranked.size()));
  std::vector<std::size_t> ids;
  for (const Ranked& r : ranked) ids.push_back(r.id);
  return ids;
}

Rng selection_noise(const Rng& round) {
  return round.split("selection");
}

Scored finite_scores(std::span<const std::size_t> ids, std::span<const double> scores) {
  Scored scored;
  for (std::size_t c = 0; c < scores.size(); ++c) {
    if (std::isfinite(scores[c]))
      scored.ranked.push_back({ids[c], scores[c]});
    else
      ++scored.not_finite;
  }
  return scored;
}

Scored score_open(Committee& committee, const Candidates& candidates) {
  return finite_scores(candidates.open, spread_scores(committee, candidates, candidates.open));
}

}  // namespace stap
