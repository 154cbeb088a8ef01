#pragma once

#include "stap/core/grid.h"

namespace stap {

/// What the maker of a table's row may ask for. Each takes what it needs, so one that needs more
/// does not change the others.
struct MakeContext {
  int threads = 0;             ///< 0 = all
  const Grid* grid = nullptr;  ///< of the solver's states; null while there is no solver

  /// Throws Error(internal) without a grid.
  const Grid& needed_grid() const;
};

}  // namespace stap
