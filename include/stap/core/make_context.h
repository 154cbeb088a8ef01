#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "stap/core/grid.h"
#include "stap/core/right_hand_side.h"

namespace stap {

/// What the maker of a table's row may ask for. Each takes what it needs, so one that needs more
/// does not change the others.
struct MakeContext {
  int threads = 0;             ///< 0 = all
  const Grid* grid = nullptr;  ///< of the solver's states; null while there is no solver
  /// The right-hand side of the study's equation, for `method`. Throws Error(config) where there is
  /// none.
  std::function<std::unique_ptr<RightHandSide>(std::string_view method)> rhs{};

  /// Throws Error(internal) without a grid.
  const Grid& needed_grid() const;
  /// Throws Error(config), naming the method, also where `rhs` is empty.
  std::unique_ptr<RightHandSide> needed_rhs(std::string_view method) const;
};

}  // namespace stap
