#pragma once

#include <cstddef>
#include <memory>

#include "stap/config/fields.h"
#include "stap/core/solver.h"

namespace stap {

/// u_t + u u_x = D u_xx on a periodic interval, D = viscosity / pi.
struct BurgersOptions {
  std::size_t points = 256;            ///< grid cells, at least 4
  double length = 1.0;                 ///< of the interval
  config::Quantity viscosity = 0.01;   ///< nu, 0 or more; may vary from row to row
  double dt = 2.0 / 13.0;              ///< one learned step
  double cfl = 0.25;                   ///< h = cfl min(dx / max|u|, dx^2 / (2D)), in (0, 1]
  double max_abs = 100.0;              ///< larger |u|: refused as input, failed during a step
  std::size_t max_steps = 10'000'000;  ///< internal steps per learned step before a row fails
};

const config::Fields<BurgersOptions>& burgers_fields();
/// Those that vary: none, or the viscosity.
std::vector<ParameterDraw> burgers_parameters(const BurgersOptions& options);

/// Second-order finite volumes (monotonised-central slopes, Godunov flux, central diffusion,
/// midpoint rule in time); values are those at the cell centres x_i = (i + 1/2) dx. Every row has
/// its own internal step h, so nothing of a row depends on its batch mates. `threads`: 0 = all.
/// Throws Error(config) for options outside their fields' range and for a dt that needs more than
/// max_steps.
std::unique_ptr<Solver> make_burgers(const BurgersOptions& options, int threads = 0);

}  // namespace stap
