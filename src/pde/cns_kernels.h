// The kernel of the compressible Navier-Stokes solver: one register of rows at a time, compiled
// once per instruction set.
#pragma once

#include <cstddef>

#include "core/isa_choice.h"
#include "pde/lane_end.h"

namespace stap {

/// One learned step of one grid, apart from the viscosities of each row. Index 0 is x, 1 is y.
struct CnsStep {
  std::size_t points[2] = {};
  double dx[2] = {};
  double gamma = 0.0;
  bool full_tensor = false;  ///< `dynamic`; otherwise `kinematic`
  double dt = 0.0;
  double cfl = 0.0;
  double floor = 0.0;         ///< of the pressure
  double bound = 0.0;         ///< a row ends as `unbounded` when not all |values| <= bound
  std::size_t max_steps = 0;  ///< a row ends as `too_slow` when this many h do not reach dt
};

struct CnsKernel {
  std::size_t lanes;  ///< rows advanced at once
  /// Doubles of `work` for a grid of x times y cells.
  std::size_t (*work)(std::size_t x, std::size_t y);
  /// Advances rows 0 .. rows-1 (rows <= lanes) by dt. Value i of row r, in the order [4, x, y], is
  /// state[i * lanes + r]; channels are density, velocity x, velocity y, pressure. Lanes without a
  /// row may hold anything finite. A row has its own h, and its result does not depend on the
  /// others; `ends` has `rows` entries. A density that is not above 0 ends a row as `unbounded`.
  /// `shear`, `bulk`: eta and zeta of each lane, aligned.
  void (*advance)(const CnsStep& step, const double* shear, const double* bulk, std::size_t rows,
                  double* state, double* work, LaneEnd* ends);
};

STAP_DECLARE_PER_ISA(CnsKernel, kCnsKernel);

}  // namespace stap
