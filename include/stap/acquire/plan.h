#pragma once

#include <cstddef>
#include <vector>

#include "stap/acquire/chooser.h"
#include "stap/acquire/selector.h"

namespace stap {

struct Purchase {
  std::size_t candidate = 0;  ///< id in the pool
  Pattern pattern;
  bool operator==(const Purchase&) const = default;
};

/// What a round will buy.
struct Plan {
  std::vector<Purchase> purchases;  ///< no candidate twice, no pattern empty
  std::size_t unspent = 0;          ///< of the budget, because the pool ran out
  std::size_t not_finite = 0;       ///< candidates a score could not judge

  std::size_t cost() const;
  bool operator==(const Plan&) const = default;
};

/// Wall-clock seconds of the two questions of a selection; calls add to them.
struct SelectionSeconds {
  double score = 0.0;   ///< which initial conditions: the selector
  double choose = 0.0;  ///< which steps of each: the chooser
};

/// Spends exactly `budget` solver steps: selector's order, chooser's patterns, the last one cut to
/// its first steps that fit. Less only if the candidates run out (`unspent`). Throws Error(config)
/// if the budget is 0, a method needs more members than the committee has, or trajectories are
/// longer than the chooser takes.
Plan spend(std::size_t budget, const Selector& selector, const StepChooser& chooser,
           Committee& committee, const Candidates& candidates, const Rng& rng,
           SelectionSeconds* seconds = nullptr);

}  // namespace stap
