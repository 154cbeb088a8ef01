// The Burgers kernel: one register of rows at a time, compiled once per instruction set.
#pragma once

#include <cstddef>

#include "core/isa_choice.h"
#include "pde/lane_end.h"

namespace stap {

/// Cells before and behind a row that hold its periodic continuation.
inline constexpr std::size_t kBurgersGhosts = 2;

/// One learned step of one grid, apart from the diffusion D >= 0 of each row.
struct BurgersStep {
  std::size_t points = 0;  ///< N
  double dx = 0.0;
  double dt = 0.0;
  double cfl = 0.0;           ///< h = cfl min(dx / max|u|, dx^2 / (2D))
  double bound = 0.0;         ///< a row ends as `unbounded` when not all |u| <= bound
  std::size_t max_steps = 0;  ///< a row ends as `too_slow` when this many h do not reach dt
};

struct BurgersKernel {
  std::size_t lanes;  ///< rows advanced at once
  /// Advances rows 0 .. rows-1 (rows <= lanes) by dt. `u` and `work` have
  /// (points + 2 kBurgersGhosts) x lanes values; cell i of row r is u[(i + kBurgersGhosts) * lanes
  /// + r]. Lanes without a row may hold anything finite. A row has its own h, and its result does
  /// not depend on the others; `ends` has `rows` entries, `diffusion` `lanes`, aligned.
  void (*advance)(const BurgersStep& step, std::size_t rows, const double* diffusion, double* u,
                  double* work, LaneEnd* ends);
};

STAP_DECLARE_PER_ISA(BurgersKernel, kBurgersKernel);

}  // namespace stap
