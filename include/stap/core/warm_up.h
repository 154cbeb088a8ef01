#pragma once

#include <memory>

#include "stap/core/solver.h"

namespace stap {

/// A solver of the same problem whose one learned step is a warm-up of `length`, in the problem's
/// time unit: the solver's own with_step() where it offers one, else as many of its steps as the
/// length is. Throws Error(config) if neither can be: the length is no whole multiple of dt
/// (relative to it, within 1e-9), not finite, or not above 0.
std::unique_ptr<Solver> make_warm_up_solver(std::shared_ptr<const Solver> solver, double length);

}  // namespace stap
