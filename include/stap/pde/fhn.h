#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "stap/config/fields.h"
#include "stap/core/solver.h"

namespace stap {

/// Diffusion-reaction of FitzHugh and Nagumo on a rectangle, channels u (activator) and v:
/// u_t = du Laplace u + reaction (u - u^3 - k - v), v_t = dv Laplace v + reaction (u - v),
/// no flux through walls and the hole.
struct FhnOptions {
  std::vector<std::size_t> points = {32, 32};               ///< cells along x, y
  std::vector<double> lengths = {2.0, 2.0};                 ///< X, Y
  std::vector<std::string> walls = {"centres", "centres"};  ///< or periodic, per axis
  std::vector<double> hole{};  ///< centre x, y in [0, X] x [0, Y], and radius; empty: none
  config::Quantity du = 1e-3;  ///< 0 or more; these may vary from row to row
  config::Quantity dv = 5e-3;
  config::Quantity k = 5e-3;
  double reaction = 1.0;               ///< 0 or more; 0: diffusion alone
  double dt = 0.5;                     ///< one learned step
  double step = 0.05;                  ///< largest internal step
  double max_abs = 100.0;              ///< larger |u| or |v|: refused as input, failed in a step
  std::size_t max_steps = 10'000'000;  ///< internal steps before a row fails
};

const config::Fields<FhnOptions>& fhn_fields();
/// Those that vary, of du, dv and k.
std::vector<ParameterDraw> fhn_parameters(const FhnOptions& options);

/// Values at the centres of cells, axes [x, y]; fluxes by central differences, second order in
/// space; classical Runge-Kutta, fourth order in time, with internal steps of equal length at most
/// `step` and as small as the diffusion and the row's largest value ask for. Cells whose centre is
/// in the hole are its mask (Solver::fixed). A row fails when a value is above max_abs or not
/// finite after an internal step, or with more than max_steps. `threads`: 0 = all. Throws
/// Error(config) for options outside their fields' range and a hole with nothing beside it.
std::unique_ptr<Solver> make_fhn(const FhnOptions& options, int threads = 0);

}  // namespace stap
