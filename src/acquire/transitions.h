// Single transitions of the pool: what planners that choose candidate and step together draw from.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/acquire/joint.h"

namespace stap {

/// Step `step` of a candidate, the steps before it made by the mean model.
struct Transition {
  std::size_t id = 0, step = 0;
  bool operator==(const Transition&) const = default;
};

/// Transitions in the order in which they should be bought, one of each candidate at most.
struct TransitionOrder {
  std::vector<Transition> transitions;
  std::size_t not_finite = 0;  ///< candidates left out because a rollout was not finite
};

/// At most so many; asked for fewer it gives the start of the same order.
using OrderTransitions = std::function<TransitionOrder(Committee&, const Candidates&,
                                                       std::size_t at_most, const Rng& round)>;

/// Buys transitions in that order.
std::unique_ptr<Planner> make_transition_planner(std::string name, int members_needed,
                                                 OrderTransitions order);

/// Draws transitions without replacement in proportion to their scores to the power `exponent`; a
/// candidate leaves with the first of its transitions that is drawn. So candidates are drawn in
/// proportion to the sum over their steps, and then a step of each. Scores that are not positive
/// come last.
TransitionOrder draw_transitions(Committee& committee, const Candidates& candidates,
                                 std::size_t at_most, const JointOptions& options,
                                 const Rng& round);

/// The spread of the members after one step from each state of the mean model's rollout, [id][L].
std::vector<double> spread_along_mean(Committee& committee, const Candidates& candidates,
                                      std::span<const std::size_t> ids);

}  // namespace stap
