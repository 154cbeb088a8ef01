// The Navier-Stokes kernel: one register of rows at a time, compiled once per instruction set.
#pragma once

#include <cstddef>

#include "core/fft_kernels.h"
#include "core/isa_choice.h"
#include "pde/lane_end.h"

namespace stap {

/// Base steps of ifrk4 may be halved this often.
inline constexpr std::size_t kInsLevels = 20;

/// One learned step of one grid. Modes are Fourier coefficients (of exp(2 pi i (kx x/X + ky y/Y))),
/// kx = 0, 1, ..., -1 as a transform of nx points orders them, ky = 0 .. ny/2; tables over both are
/// [ky][kx]. kappa^2 = |2 pi (kx/X, ky/Y)|^2.
struct InsStep {
  std::size_t nx = 0, ny = 0;
  std::size_t box_x = 0, box_y = 0;  ///< the product keeps |kx| <= box_x, ky <= box_y
  const FftKernels<double>* fft = nullptr;
  const FftComplexPlan<double>* along_x = nullptr;
  const FftRealPlan<double>* along_y = nullptr;
  const double* slope_x = nullptr;  ///< [nx] 2 pi kx/X, 0 at Nyquist
  const double* slope_y = nullptr;  ///< [ny/2 + 1]
  const double* inverse = nullptr;  ///< 1/kappa^2, 0 for k = 0
  double velocity_x = 0.0, velocity_y = 0.0;
  double forcing_rate = 0.0;
  double bound = 0.0;  ///< a row ends as `unbounded` when its rms(w) (every h) or |w| (end) passes
  double h = 0.0;      ///< crank_nicolson: internal step; ifrk4: the largest
  std::size_t steps = 0;  ///< of h in dt

  /// crank_nicolson, else null: w <- decay w + gain (f - product)
  const double* decay = nullptr;
  const double* gain = nullptr;
  const double* square = nullptr;  ///< kappa^2, where rows have decay and gain of their own
  double courant = 0.0;  ///< h 2^-j max(|u| Kx + |v| Ky) stays below, K of the product's last mode
  std::size_t max_steps = 0;  ///< a row ends as `too_slow` when this many do not reach dt
};

/// What rows have of their own, for each lane.
struct InsRows {
  const double* times = nullptr;      ///< of the rows' states
  const double* forcing = nullptr;    ///< amplitude, aligned
  const double* viscosity = nullptr;  ///< aligned; for step.square
  /// ifrk4: exp(-viscosity kappa^2 h 2^-j / 2), the factors of kx and of ky: [kInsLevels + 1][nx],
  /// then [kInsLevels + 1][ny/2 + 1].
  const double* factors[kMaxLanes] = {};
};

struct InsKernel {
  std::size_t lanes;  ///< rows advanced at once
  std::size_t (*work)(const InsStep& step);
  /// Advances rows 0 .. rows-1 (rows <= lanes) by dt. Point (x, y) of row r is
  /// w[(x * ny + y) * lanes + r]. A row's result does not depend on the
  /// others; lanes without a row repeat row 0. `ends` has `rows` entries. work: work(step) doubles.
  void (*advance)(const InsStep& step, const InsRows& own, std::size_t rows, double* w,
                  double* work, LaneEnd* ends);
};

STAP_DECLARE_PER_ISA(InsKernel, kInsKernel);

}  // namespace stap
