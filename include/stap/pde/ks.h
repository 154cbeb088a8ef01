#pragma once

#include <cstddef>
#include <memory>
#include <numbers>

#include "stap/config/fields.h"
#include "stap/core/solver.h"

namespace stap {

/// u_t + u_xx + hyperviscosity u_xxxx + u u_x = 0 on a periodic interval (Kuramoto-Sivashinsky).
struct KsOptions {
  std::size_t points = 256;                 ///< grid points, even, at least 8
  double length = 16.0 * std::numbers::pi;  ///< of the interval
  config::Quantity hyperviscosity = 1.0;    ///< above 0; may vary from row to row
  double dt = 0.5;                          ///< one learned step: a multiple of `step`
  double step = 0.25;                       ///< internal step
  double max_abs = 100.0;                   ///< larger |u|: refused, failed during a step
  std::size_t max_steps = 10'000'000;       ///< internal steps allowed for one dt
};

const config::Fields<KsOptions>& ks_fields();
/// Those that vary: none, or the hyperviscosity.
std::vector<ParameterDraw> ks_parameters(const KsOptions& options);

/// Pseudospectral ETDRK4 with contour-integral coefficients, no dealiasing, the Nyquist mode in the
/// linear term as any other and 0 in derivatives of odd order; values at x_i = i dx. `threads`: 0 =
/// all. Throws Error(config) for options outside their fields' range, and for a dt that is no
/// multiple of `step` or needs more than max_steps.
std::unique_ptr<Solver> make_ks(const KsOptions& options, int threads = 0);

}  // namespace stap
