#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/pattern.h"
#include "stap/core/rng.h"
#include "stap/core/stop.h"

// Where the solver helps most on the way of a trajectory that it makes a share of.
namespace stap {

/// A trajectory from here on.
struct StepsToPlace {
  std::span<const float> state{};
  std::uint32_t step = 0;  ///< that leads to it: what networks are told
  std::span<const double> parameters{};
  std::size_t steps = 0;  ///< to make, L
  std::size_t cost = 0;   ///< of them by the solver, at most L
};
struct PlacedSteps {
  Pattern pattern;
  /// [L]: the mean over members of |u - u_S|^2 after each step, u being the member's own rollout.
  std::vector<double> squared{};
};

/// The committee plays both: a member is the solver, the averaged model the surrogate. Of a
/// pattern S, u_S makes the steps of S by the member and the others by the averaged model;
/// STAP's utility R(member, averaged model, S) is how much closer that comes to the member's own
/// rollout than the averaged model does, over all steps. S is found greedily: one step after the
/// other, each the one of largest gain (of equals the first), then each is moved once to where
/// that gains most. The work grows with cost and with the square of the steps: it asks `stop`, and
/// throws Stopped. Throws Error(config) for a committee of one, which cannot disagree.
PlacedSteps place_solver_steps(Committee& committee, const StepsToPlace& wanted,
                               const StopAsked& stop = {});

/// The same number of steps at equal distances, the first one among them; and at random ones.
Pattern even_steps(std::size_t steps, std::size_t cost);
Pattern random_steps(std::size_t steps, std::size_t cost, const Rng& rng);

}  // namespace stap
