// Steps that are made of several steps of another solver.
#pragma once

#include <algorithm>
#include <memory>

#include "stap/core/solver_queue.h"

namespace stap {

struct StepGroup {
  std::size_t size = 1;  ///< steps of the other solver for one of these
  std::size_t kept = 1;  ///< of the states they give, the last so many, one after the other, are
                         ///< the state after it
};

/// How many groups of steps of `solver` fit into one call of it; at least 1.
inline std::size_t groups_at_once(const Solver& solver, std::size_t size) {
  return std::max<std::size_t>(1, solver.steps_at_once() / size);
}

/// The query for one step of `solver` with which a query for a group begins: from the last state of
/// those in it.
Query first_of_group(const Solver& solver, const Query& query);

/// A query of n steps is one of n x size steps, at their own times, of a queue of `solver` (which
/// must outlive it). A group that does not come to its end fails and says at which of its steps;
/// seconds and attempts are those of all its steps.
std::unique_ptr<SolverQueue> make_grouped_queue(const Solver& solver, StepGroup group);

}  // namespace stap
