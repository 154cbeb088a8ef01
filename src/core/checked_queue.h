// What Solver::open() puts around the queue of every kind of solver.
#pragma once

#include <memory>
#include <span>

#include "stap/core/solver_queue.h"

namespace stap {

/// Index of the first value that is not finite, or the size.
std::size_t first_not_finite(std::span<const double> values);

/// The queue of `solver` (which must outlive it), by way of `inner`:
/// - A query that solver.refusal() refuses is answered by it and never reaches `inner`.
/// - A query of more than solver.steps_at_once() steps is cut into several, one behind the other,
///   and their answers are joined: states one after the other, seconds and attempts summed.
/// - The input of every step must pass refusal(), whether the step was cut off there or not, so
///   that what is kept does not depend on how many steps are one call. The states
///   before a step that is refused are kept.
/// - An ok answer of a wrong size, or with values that are not finite, is a failure that keeps the
///   whole, finite states before the flaw.
/// Ids are those of `inner`: a query that is asked in parts is one, given back as a whole.
std::unique_ptr<SolverQueue> make_checked_queue(const Solver& solver,
                                                std::unique_ptr<SolverQueue> inner);

}  // namespace stap
