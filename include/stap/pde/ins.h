#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stap/config/fields.h"
#include "stap/core/solver.h"

namespace stap {

/// Vorticity of an incompressible flow on a periodic rectangle:
/// w_t + (V + v) . grad w = viscosity Laplace w + f, -Laplace psi = w, v = (psi_y, -psi_x), V the
/// mean velocity, f = forcing (sin p + cos p), p = 2 pi (x/X + y/Y + forcing_rate max(t, 0)).
/// t = 0 at the initial condition of a trajectory: the forcing stands still during the warm-up.
struct InsOptions {
  enum class Scheme { crank_nicolson, ifrk4 };

  std::vector<std::size_t> points = {32, 32};  ///< x, y; even, at least 8
  std::vector<double> lengths = {1.0, 1.0};    ///< X, Y
  config::Quantity viscosity = 2e-4;           ///< 0 or more; may vary from row to row
  config::Quantity forcing = 0.1;              ///< amplitude; likewise
  double forcing_rate = 0.0;                   ///< phase turns per unit of time; 0: steady
  std::vector<double> mean_velocity = {0.0, 0.0};
  double dt = 0.5;  ///< one learned step
  Scheme scheme = Scheme::crank_nicolson;
  double step = 0.0;                   ///< largest internal step; 0: 1e-3, or 0.05 for ifrk4
  double max_abs = 1000.0;             ///< larger |w|: refused as input, failed during a step
  std::size_t max_steps = 10'000'000;  ///< internal steps before a row fails
};

const config::Fields<InsOptions>& ins_fields();
/// Those that vary, of viscosity and forcing.
std::vector<ParameterDraw> ins_parameters(const InsOptions& options);

/// Pseudospectral; the product (V + v) . grad w (and only it) keeps |kx| <= Nx/3, |ky| <= Ny/3;
/// first derivatives are 0 at Nyquist, the Laplacian is not; values at x_i = i dx, y_j = j dy, axes
/// [x, y].
/// crank_nicolson: diffusion implicit, the rest (forcing too) explicit, fixed steps h = dt / whole
/// number; first order in time, second where product and forcing do not change.
/// ifrk4: integrating factor for diffusion and classical Runge-Kutta; h = dt / whole number is
/// halved, row by row and step by step, until h max(|u| Kx + |v| Ky) <= 2.4 with K of the last wave
/// number that the product keeps (the limit of stability is 2.83).
/// A row fails when, after an internal step, the root mean square of w is above max_abs or not
/// finite, or when at dt max|w| is; ifrk4 also when it needs more than max_steps. `threads`: 0 =
/// all. Throws Error(config) for options outside their fields' range or a dt that needs more than
/// max_steps.
std::unique_ptr<Solver> make_ins(const InsOptions& options, int threads = 0);

}  // namespace stap
