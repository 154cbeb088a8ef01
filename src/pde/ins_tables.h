// What the Navier-Stokes kernel needs of the options, for a chosen instruction set.
#pragma once

#include <vector>

#include "core/fft_plan.h"
#include "pde/ins_kernels.h"
#include "stap/pde/ins.h"

namespace stap {

/// h max(|u| Kx + |v| Ky) of ifrk4, K the last wave numbers that the product keeps. The limit of
/// stability is 2.83 (the classical Runge-Kutta method on the imaginary axis; diffusion only
/// helps). Measured, as relative error of a learned step: 4e-5 at 2.2, the fastest of the
/// benchmark's states with h = 0.05; 1e-4 at 2.7.
inline constexpr double kInsCourant = 2.4;

/// The internal step before it is made to divide dt.
double ins_largest_step(const InsOptions& options);
/// The least whole number of such steps in dt; a quotient that is whole but for rounding counts as
/// whole. At least 1.
double ins_steps(const InsOptions& options);

/// The kernel of a set that this build has.
const InsKernel& ins_kernel(Isa isa);

/// InsRows::factors of a viscosity, for steps of at most h.
std::vector<double> ins_factors(const InsOptions& options, double h, double viscosity);

/// Tables of options that are within their fields' range; `step` points into them.
struct InsTables {
  InsTables(const InsOptions& options, Isa isa);
  InsTables(const InsTables&) = delete;

  InsStep step;
  std::vector<double> factors;  ///< ifrk4: of the viscosity that all rows have

 private:
  FftPlan<double> along_x_, along_y_;
  std::vector<double> slope_x_, slope_y_, inverse_, decay_, gain_, square_;
};

}  // namespace stap
