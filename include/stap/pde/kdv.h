#pragma once

#include <cstddef>
#include <memory>

#include "stap/config/fields.h"
#include "stap/core/solver.h"

namespace stap {

/// u_t + u u_x + u_xxx = 0 on a periodic interval.
struct KdvOptions {
  enum class Scheme { dopri5, etdrk4 };

  std::size_t points = 256;        ///< grid points, even, at least 8
  double length = 128.0;           ///< of the interval
  double dt = 4.0;                 ///< one learned step
  Scheme scheme = Scheme::dopri5;  ///< error control per row, or fixed exponential steps
  double atol = 1e-6;              ///< dopri5: error per step allowed at a point, absolute ...
  double rtol = 1e-8;              ///< ... and relative to |u|
  // At 0.05 the scheme is unstable for the tallest solitons of the printed set-up (about 30 of
  // 12,000 rows blew up, |u| > 11), at 0.025 it is not. Here a learned step of a row with |u| = 8
  // is off by 1e-5 to 7e-5, less than dopri5 with its default tolerances.
  double step = 0.0125;  ///< etdrk4: the largest internal step; h = dt / whole number
  // The largest |u| of 11,000 rows, warm-up and 13 learned steps included, is 13.7 in the printed
  // set-up (1.3 % pass 10) and 7.3 in the other: 20 refuses none of them.
  double max_abs = 20.0;               ///< larger |u|: refused as input, failed during a step
  std::size_t max_steps = 10'000'000;  ///< internal steps, rejected ones too, before a row fails
};

const config::Fields<KdvOptions>& kdv_fields();

/// Pseudospectral, states in Fourier space between steps, -(u^2/2)_x without dealiasing, wave
/// number 0 at Nyquist; values at x_i = i dx. dopri5: Dormand-Prince 5(4), every row with its own
/// step h; some 1e-4 of u is integrator noise in the highest modes. `threads`: 0 = all. Throws
/// Error(config) for options outside their fields' range, and for an etdrk4 dt that needs more than
/// max_steps.
std::unique_ptr<Solver> make_kdv(const KdvOptions& options, int threads = 0);

}  // namespace stap
