// The kernel of the FitzHugh-Nagumo solver: one register of rows at a time, compiled once per
// instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/isa_choice.h"
#include "pde/lane_end.h"

namespace stap {

/// One learned step of one grid, apart from the numbers of each row.
struct FhnStep {
  std::size_t points = 0;                    ///< of a channel
  const std::int32_t* cells = nullptr;       ///< the `open` ones, those that have a state
  const std::int32_t* neighbours = nullptr;  ///< [open][x below, x above, y below, y above]: the
                                             ///< cell itself where no flux crosses the face
  std::size_t open = 0;
  double inverse_dx2[2] = {};  ///< 1 / dx^2, 1 / dy^2
  double reaction = 1.0;       ///< factor of the reaction
  double dt = 0.0;
  double largest = 0.0;       ///< internal step, where stability does not ask for a smaller one
  double bound = 0.0;         ///< a row ends as `unbounded` when not all |values| <= bound
  std::size_t max_steps = 0;  ///< a row ends as `too_slow` when this many do not reach dt
};

/// Of each lane, aligned.
struct FhnRows {
  const double *du, *dv, *k;
};

struct FhnKernel {
  std::size_t lanes;  ///< rows advanced at once
  /// Doubles of `work`.
  std::size_t (*work)(std::size_t points);
  /// Advances rows 0 .. rows-1 (rows <= lanes) by dt. Value i of row r, in the order [u,
  /// v][points], is state[i * lanes + r]; cells that are not open are neither read nor written.
  /// Lanes without a row may hold anything finite. A row has its own internal steps, and its result
  /// does not depend on the others; `ends` has `rows` entries.
  void (*advance)(const FhnStep& step, const FhnRows& own, std::size_t rows, double* state,
                  double* work, LaneEnd* ends);
};

STAP_DECLARE_PER_ISA(FhnKernel, kFhnKernel);

}  // namespace stap
