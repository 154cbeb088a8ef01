// Error-controlled steps (Dormand-Prince 5(4)) for u_t = -(u^2/2)_x - u_xxx: one register of rows
// at a time, compiled once per instruction set.
#pragma once

#include <cstddef>

#include "core/isa_choice.h"
#include "pde/lane_end.h"
#include "pde/line_fft.h"

namespace stap {

struct KdvStep {
  LineFft fft;
  const double* table = nullptr;  ///< [N/2 + 1][kappa / 2N, kappa^3], kappa the wave number
  double dt = 0.0;
  double atol = 0.0, rtol = 0.0;  ///< of the error of a step
  double bound = 0.0;             ///< a row ends as `unbounded` when not all |u| <= bound
  std::size_t max_steps = 0;      ///< a row ends as `too_slow` when this many steps are not enough
};

struct KdvKernel {
  std::size_t lanes;                        ///< rows advanced at once
  std::size_t (*work)(const LineFft& fft);  ///< doubles of scratch
  /// Advances rows 0 .. rows-1 (rows <= lanes) by dt; point i of row r is u[i * lanes + r]. Every
  /// row has its own step, and its result does not depend on the others; `ends` has `rows` entries.
  /// `u` and `work` are aligned to 64 bytes.
  void (*advance)(const KdvStep& step, std::size_t rows, double* u, double* work, LaneEnd* ends);
};

STAP_DECLARE_PER_ISA(KdvKernel, kKdvKernel);

}  // namespace stap
