// What each point of a body's grid is: a point of the state, or padding that is made of such
// points.
#pragma once

#include <cstdint>
#include <vector>

namespace stap {

struct NetworkSpec;

/// A point of the body's grid. Its input is the sum of weight[s] times the state at point from[s],
/// before scaling; its output counts where `place` is a point of the state. Plain, for kernels.
struct BodyPoint {
  std::int32_t place;  ///< of the state; -1: padding; -2 - p: point p, which is masked and stays 0
  std::int32_t sources;  ///< up to 4; none is masked
  std::int32_t from[4];
  float weight[4];
};

/// In the order of the body's grid; empty where it is the state's, point by point.
std::vector<BodyPoint> body_points(const NetworkSpec& spec);

}  // namespace stap
