#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stap/acquire/pool.h"

namespace stap {

/// The pattern that buys step `step` alone.
inline Pattern single_step(std::size_t steps, std::size_t step) {
  Pattern pattern(steps);
  pattern.set(step, true);
  return pattern;
}

/// StepChooser::choose() where a pattern is pattern_of(id).
template <class PatternOf>
std::vector<Pattern> until_spent(const Candidates& candidates, std::span<const std::size_t> ids,
                                 std::size_t budget, const PatternOf& pattern_of) {
  std::vector<Pattern> patterns;
  for (std::size_t k = 0, spent = 0; k < ids.size() && spent < budget; ++k) {
    patterns.push_back(pattern_of(ids[k]));
    spent += candidates.cost(patterns.back());
  }
  return patterns;
}

}  // namespace stap
