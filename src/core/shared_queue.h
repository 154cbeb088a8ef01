// Questions that are asked by several at the same time, put once.
#pragma once

#include <memory>

#include "stap/core/solver_queue.h"

namespace stap {

/// The same queue, but queries that are equal (state, time, steps and parameters, bit for bit) and
/// open at the same time are one query of `inner`, whose answer each of them gets. Runs of a sweep
/// that begin with the same trajectories walk them side by side, so they pay for them once. An id
/// must not be used twice.
std::unique_ptr<SolverQueue> make_shared_queue(std::unique_ptr<SolverQueue> inner);

}  // namespace stap
