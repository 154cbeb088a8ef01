#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/pattern.h"
#include "stap/core/states.h"

namespace stap {

/// The initial conditions a round may choose from, each a state and its parameters. An id is an
/// index into the whole pool and never changes; `open` holds the ids that are not used yet,
/// ascending.
struct Candidates {
  StatesView<const float> states;  ///< the whole pool
  std::span<const std::size_t> open;
  std::size_t steps = 0;    ///< L
  std::size_t warm_up = 0;  ///< solver steps that a chosen one costs besides those of its pattern
  ConditionsView conditions{};  ///< of the whole pool

  std::size_t cost(const Pattern& pattern) const { return pattern.cost() + warm_up; }
  /// Candidates that a budget can pay, begun ones counted: each costs a step at least.
  std::size_t payable(std::size_t budget) const {
    return budget / (1 + warm_up) + (budget % (1 + warm_up) > 0 ? 1 : 0);
  }
};

/// q(u0) = (1/M) sum over members and steps 1..L of the squared distance to the members' mean, each
/// member rolled out by itself: one value per id of `ids`, not finite where a rollout is not.
/// Rows are worked on in blocks (0: as many as suit the committee); the result does not depend on
/// the block.
std::vector<double> spread_scores(Committee& committee, const Candidates& candidates,
                                  std::span<const std::size_t> ids, std::size_t block = 0);

}  // namespace stap
