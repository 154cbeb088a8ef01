#pragma once

#include <cstddef>
#include <span>

#include "stap/core/grid.h"

namespace stap {

/// A mean that moves by less, as a share of what a step changes, is kept: far above what rounding
/// and iterative solvers do, and far below what a source does.
inline constexpr double kMeanKept = 1e-4;

/// What steps do to the mean of a channel over the grid.
struct MeanChange {
  /// By how much they move it, as a share of what they change in the channel; both as roots of mean
  /// squares. 0: by nothing but rounding in single precision, which networks compute in.
  double share = 0.0;
  /// Whether there is a state among them that has a mean and is changed: 0 stays 0 in a step that
  /// only multiplies.
  bool told = false;
};
/// Of one step or several: states one after the other, and what became of them.
MeanChange mean_change(const Grid& grid, std::span<const double> from, std::span<const double> to,
                       std::size_t channel);

}  // namespace stap
