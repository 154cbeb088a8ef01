#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stap/config/fields.h"
#include "stap/core/solver.h"

namespace stap {

/// Compressible Navier-Stokes for an ideal gas on a periodic rectangle, no heat conduction.
/// Channels: density, velocity x, velocity y, pressure.
struct CnsOptions {
  enum class Viscosity { dynamic, kinematic };

  std::vector<std::size_t> points = {32, 32};  ///< cells along x, y; at least 4
  std::vector<double> lengths = {1.0, 1.0};
  double gamma = 5.0 / 3.0;                 ///< above 1
  config::Quantity shear_viscosity = 0.05;  ///< eta, 0 or more; may vary from row to row
  config::Quantity bulk_viscosity = 0.05;   ///< zeta, likewise
  Viscosity viscosity = Viscosity::dynamic;
  double dt = 0.5 / 26;             ///< one learned step
  double cfl = 0.3;                 ///< in (0, 1]
  double pressure_floor = 1e-4;     ///< smaller pressures are raised to it
  double max_abs = 1e4;             ///< larger values of any channel: refused, failed in a step
  std::size_t max_steps = 100'000;  ///< internal steps before a row fails
};

const config::Fields<CnsOptions>& cns_fields();
/// Those that vary, of the two viscosities.
std::vector<ParameterDraw> cns_parameters(const CnsOptions& options);

/// Second-order finite volumes, values at cell centres: primitive variables reconstructed with the
/// monotonised-central limiter, HLLC fluxes with the wave speeds of Einfeldt and Batten et al.,
/// central viscous fluxes, midpoint rule. `dynamic`: the full stress tensor with constant eta and
/// zeta. `kinematic`: eta and zeta times the density (at a face the mean of both cells), and in a
/// face with normal n only the normal derivatives: tau_nn = rho (4 eta/3 + zeta) d_n v_n,
/// tau_nt = rho eta d_n v_t. Every row has its own internal step, h = cfl / max over cells of
/// sum over axes of ((|v| + c)/dx + 2 D/dx^2), D the larger diffusivity of velocities in the cell.
/// Refuses states whose density or pressure is not positive. `threads`: 0 = all. Throws
/// Error(config) for options outside their fields' range, and where a kinematic viscosity alone
/// needs more than max_steps.
std::unique_ptr<Solver> make_cns(const CnsOptions& options, int threads = 0);

}  // namespace stap
