#pragma once

#include <cstddef>

#include "stap/core/pattern.h"
#include "stap/core/rng.h"

namespace stap {

/// A pattern of L >= 1 steps with every bit 1 with probability p, given that it is not empty: the
/// first of draws 0, 1, ... of the candidate's stream that is not. `rng` is the round's stream.
inline Pattern bernoulli_draw(std::size_t steps, double p, std::size_t candidate, const Rng& rng) {
  // So many draws are all empty only where p * L is below 0.01 (up to a chance of e^-100). There a
  // pattern that is not empty has a single step, anywhere, up to a chance of p * L.
  constexpr std::size_t most = 10000;
  const Rng stream = rng.split("candidate", candidate);
  for (std::size_t t = 0; t < most; ++t)
    if (Pattern pattern = Pattern(steps).flipped(p, stream.split("draw", t)); pattern.cost() > 0)
      return pattern;
  Pattern single(steps);
  single.set(stream.split("single").below(0, steps), true);
  return single;
}

}  // namespace stap
