#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "stap/acquire/ledger.h"
#include "stap/acquire/plan.h"
#include "stap/core/committee.h"
#include "stap/core/solver_queue.h"
#include "stap/core/states.h"
#include "stap/core/walk.h"

namespace stap {

/// A step that was bought: the transition and where it comes from.
struct Bought {
  std::size_t candidate = 0, step = 0;  ///< 0-based step: leads from state `step` to `step` + 1
  std::vector<double> input, output;    ///< [C, X...]
  double seconds = 0.0;
};

/// One answer of the solver, as it arrives: journalled before it is used, and taken from the
/// journal instead of the solver when a round is continued.
struct AnswerRecord {
  std::size_t candidate = 0, step = 0;
  Answer answer;
};

struct BuyHooks {
  /// The recorded answer of (candidate, step), or null: then the solver is asked.
  std::function<const Answer*(std::size_t candidate, std::size_t step)> recorded;
  /// Called once for every answer that came from the solver, before it is used.
  std::function<void(const AnswerRecord&)> record;
};

struct BuyRules {
  /// A query that fails costs a step all the same.
  bool charge_failed = true;
  /// The trust band: an input that the mean model made is refused if the members are farther apart
  /// after one step from it (one_step_spreads). Infinite: no band.
  double trust_limit = std::numeric_limits<double>::infinity();
};

struct Delivery {
  std::vector<Bought> bought;  ///< in (position in the plan, step) order
  Ledger ledger;
};

/// Drives one walk per purchase by events: the solver where the bit is 1, the mean model where it
/// is 0. Two bought steps in a row hand the double state on unrounded. `initial` is the pool in
/// double. `dt` is the time of one learned step. An answer that is ok but of the wrong size, or
/// holds values that are not finite, counts as failed. A refusal or failure ends its walk. What the
/// trust band refuses never reaches the queue; a recorded answer has passed it before. The queue
/// must have nothing open. Throws Error(internal) if the plan costs more than the budget or the
/// ledger does not add up, Error(config) for a trust band with a committee of one.
Delivery buy(const Plan& plan, std::size_t budget, StatesView<const double> initial, double dt,
             SolverQueue& queue, Committee& committee, const BuyHooks& hooks,
             const BuyRules& rules = {});

}  // namespace stap
