// The right-hand side of u_t = L u - (u^2/2)_x on a periodic interval.
#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "stap/core/right_hand_side.h"

namespace stap {

/// linear[j]: L at the wave number 2 pi j / length, j = 0 .. N/2. The nonlinear term is 0 at j =
/// N/2. `grid`: one axis, an even number of points.
std::unique_ptr<RightHandSide> make_line_rhs(const Grid& grid, double dt,
                                             const std::vector<std::complex<double>>& linear,
                                             int threads);

}  // namespace stap
