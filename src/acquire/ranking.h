#pragma once

#include <cstddef>
#include <vector>

#include "stap/acquire/selector.h"

namespace stap {

/// A candidate and what it is sorted by.
struct Ranked {
  std::size_t id = 0;
  double key = 0.0;  ///< not NaN
};

/// The first `at_most` ids by falling key, equal keys by rising id.
std::vector<std::size_t> best_first(std::vector<Ranked> ranked, std::size_t at_most);

/// What selectors draw their noise from, draw = candidate id. One stream for all of them: no key
/// contains a method's name.
Rng selection_noise(const Rng& round);

/// Candidates with their scores as keys. Those whose score is not finite are left out and counted.
struct Scored {
  std::vector<Ranked> ranked;
  std::size_t not_finite = 0;
};
Scored finite_scores(std::span<const std::size_t> ids, std::span<const double> scores);
/// The open candidates by q.
Scored score_open(Committee& committee, const Candidates& candidates);

}  // namespace stap
