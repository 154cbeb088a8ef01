// The soft window that some samplers multiply their states with.
#pragma once

#include <cmath>

namespace stap {

/// Near 1 between `left` and `right`, near 0 outside, with edges of this width; all in one unit.
inline double window(double x, double left, double right, double width) {
  return 0.5 * (std::tanh((x - left) / width) - std::tanh((x - right) / width));
}

}  // namespace stap
