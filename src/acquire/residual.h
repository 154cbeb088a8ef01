// How far rollouts are from obeying an equation du/dt = F(u, t).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stap/acquire/pool.h"
#include "stap/core/right_hand_side.h"

namespace stap {

/// A state and F of it.
struct Evaluated {
  std::span<const double> state, rate;
};

/// |(u1 - u0)/dt - (F(u1) + F(u0))/2|^2 of one step, summed in grid order.
double step_residual2(const Evaluated& before, const Evaluated& after, double dt);

/// The mean over members of the sum over steps 1..L of step_residual2, each member rolled out by
/// itself: one value per id of `ids`, not finite where a rollout is not or has no F. `rhs` must be
/// of the committee's grid. Rows are worked on in blocks; the result does not depend on the block.
std::vector<double> residual_scores(Committee& committee, const Candidates& candidates,
                                    std::span<const std::size_t> ids, const RightHandSide& rhs,
                                    std::size_t block = 128);

}  // namespace stap
