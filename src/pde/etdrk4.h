// The exponential time differencing Runge-Kutta scheme of fourth order (Cox and Matthews 2002, with
// the coefficients of Kassam and Trefethen 2005) for u_t = L u - (u^2/2)_x on a periodic interval.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include "core/fft_plan.h"
#include "pde/etdrk4_kernels.h"
#include "pde/lane_blocks.h"
#include "stap/core/grid.h"

namespace stap {

/// For z = hL: exp(z), exp(z/2), and h times the weights of the stages (Q) and of the sum (first,
/// middle, last: f1, f2, f3 of the paper). Accurate to rounding for every z, also near 0.
struct Etdrk4Coefficients {
  std::complex<double> full, half, stage, first, middle, last;
};
Etdrk4Coefficients etdrk4_coefficients(std::complex<double> z, double h);

/// Etdrk4Step::table of all lanes: linear[j] is L at the wave number 2 pi j / length, j = 0 .. N/2.
std::vector<double> etdrk4_table(const Grid& grid, const std::vector<std::complex<double>>& linear,
                                 double h);

class Etdrk4 {
 public:
  /// `linear`: as above. The nonlinear term is 0 at j = N/2. `grid`: one axis, an even number of
  /// points.
  Etdrk4(const Grid& grid, const std::vector<std::complex<double>>& linear, double h,
         std::size_t steps, double bound);

  std::size_t lanes() const { return kernel_->lanes; }
  std::size_t work() const { return kernel_->work(step_.fft); }
  void advance(const LaneBlock& block) const;

  /// The same with a table of its own for each row; `work` is larger then.
  std::size_t work_of_tables() const { return work() + table_.size() * lanes() + kAlignment; }
  void advance(const LaneBlock& block, std::span<const double* const> tables) const;

 private:
  static constexpr std::size_t kAlignment = 8;  // doubles

  FftPlan<double> plan_;
  std::vector<double> table_;
  Etdrk4Step step_;
  const Etdrk4Kernel* kernel_;
};

}  // namespace stap
