// The smooth window by which samplers cut a field to a part of an axis.
#pragma once

#include <cmath>

namespace stap {

/// About 1 between `left` and `right`, about 0 outside, with edges of size `width` (above 0):
/// (tanh((x - left)/width) - tanh((x - right)/width)) / 2.
inline double window(double x, double left, double right, double width) {
  return 0.5 * (std::tanh((x - left) / width) - std::tanh((x - right) / width));
}

}  // namespace stap
