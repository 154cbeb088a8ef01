#include "nn/body_points.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>

#include "stap/nn/network.h"

namespace stap {
namespace {

// The points of one axis that a point of the body's axis is made of.
struct AxisSources {
  std::size_t count = 1;
  std::size_t from[2] = {0, 0};
  double weight[2] = {1.0, 0.0};
};

// Point i of the body's axis. Padding is what both ends ask for, one blended into the other along
// half a cosine: next to an end that end alone decides.
AxisSources sources_of(const NetworkSpec& spec, std::size_t axis, std::size_t i) {
  const std::size_t n = spec.grid.points[axis], padded = spec.padded(axis);
  if (i < n) return {1, {i, i}, {1.0, 0.0}};
  const std::size_t behind = i - n, before = padded - 1 - behind;  // points to either end
  const double part = static_cast<double>(behind + 1) / static_cast<double>(padded + 1);
  const double last = 0.5 * (1.0 + std::cos(std::numbers::pi * part));
  const Padding::Kind kind = spec.padding[axis].kind;
  if (kind == Padding::Kind::zero) return {0, {}, {}};
  if (kind == Padding::Kind::blended) return {2, {n - 1, 0}, {last, 1.0 - last}};
  // A wall on a point is a mirror at that point, else one between two.
  const std::size_t wall = spec.grid.end(axis) == Boundary::points ? 1 : 0;
  const auto mirrored = [&](std::size_t distance) { return std::min(distance + wall, n - 1); };
  const double sign = kind == Padding::Kind::odd ? -1.0 : 1.0;
  return {2, {n - 1 - mirrored(behind), mirrored(before)}, {sign * last, sign * (1.0 - last)}};
}

}  // namespace

std::vector<BodyPoint> body_points(const NetworkSpec& spec) {
  const Grid body = spec.body_grid();
  const std::span<const std::uint8_t> mask =
      spec.fixed ? std::span(spec.fixed->mask) : std::span<const std::uint8_t>();
  if (body.points == spec.grid.points && mask.empty()) return {};
  const auto masked = [&](std::size_t place) { return !mask.empty() && mask[place] == 0; };
  std::vector<BodyPoint> table;
  const std::size_t columns = body.points.back();  // the last axis; one axis has one line of them
  for (std::size_t p = 0; p < body.points_total(); ++p) {
    const std::size_t line = p / columns, column = p % columns;
    const AxisSources y = sources_of(spec, body.axes() - 1, column);
    const AxisSources x = body.axes() > 1 ? sources_of(spec, 0, line) : AxisSources{};
    const std::size_t across = spec.grid.points.back();
    const bool inside = column < across && (body.axes() == 1 || line < spec.grid.points[0]);
    BodyPoint point{};
    const std::size_t place = line * across + column;
    point.place = inside ? static_cast<std::int32_t>(place) : -1;
    if (inside && masked(place)) point.place = -2 - point.place;
    for (std::size_t a = 0; a < x.count; ++a)
      for (std::size_t b = 0; b < y.count; ++b) {
        const std::size_t from = x.from[a] * across + y.from[b];
        if (masked(from)) continue;
        point.from[point.sources] = static_cast<std::int32_t>(from);
        point.weight[point.sources++] = static_cast<float>(x.weight[a] * y.weight[b]);
      }
    table.push_back(point);
  }
  return table;
}

}  // namespace stap
