#include "nn/neighbours.h"

#include <algorithm>

namespace stap {

std::vector<Beyond> beyond(const NetworkSpec& spec) {
  std::vector<Beyond> beyond(spec.grid.axes(), Beyond::periodic);
  for (std::size_t axis = 0; axis < spec.padding.size(); ++axis) {
    const Padding::Kind kind = spec.padding[axis].kind;
    if (kind == Padding::Kind::conv_zero) beyond[axis] = Beyond::zero;
    if (kind == Padding::Kind::conv_mirror)
      beyond[axis] = spec.grid.end(axis) == Boundary::points ? Beyond::reflect : Beyond::mirror;
  }
  return beyond;
}

std::size_t continued(std::ptrdiff_t i, std::ptrdiff_t n, Beyond padding) {
  const bool inside = i >= 0 && i < n;
  if (!inside && padding == Beyond::zero) return static_cast<std::size_t>(n);
  if (!inside && padding == Beyond::periodic) i += i < 0 ? n : -n;
  if (!inside && padding == Beyond::mirror) i = i < 0 ? -1 - i : 2 * n - 1 - i;
  if (!inside && padding == Beyond::reflect) i = i < 0 ? -i : 2 * (n - 1) - i;
  return static_cast<std::size_t>(i);
}

Neighbours neighbours(std::span<const std::size_t> points, std::span<const Beyond> padding,
                      std::size_t taps, std::size_t dilation) {
  Neighbours result;
  result.points = 1;
  std::size_t all_taps = 1;
  for (const std::size_t n : points) {
    result.points *= n;
    all_taps *= taps;
  }
  for (std::size_t tap = 0; tap < all_taps; ++tap) {
    result.tap.push_back(static_cast<std::uint32_t>(tap));
    for (std::size_t p = 0; p < result.points; ++p) {
      // Last axis first: what is left of tap and point belongs to the axes before it.
      std::size_t source = 0, stride = 1, tap_left = tap, point_left = p;
      for (std::size_t axis = points.size(); axis-- > 0;) {
        const std::size_t n = points[axis];
        const auto shift =
            static_cast<std::ptrdiff_t>(dilation) *
            (static_cast<std::ptrdiff_t>(tap_left % taps) - static_cast<std::ptrdiff_t>(taps / 2));
        const std::size_t i = continued(static_cast<std::ptrdiff_t>(point_left % n) + shift,
                                        static_cast<std::ptrdiff_t>(n), padding[axis]);
        source = i == n || source == result.points ? result.points : source + i * stride;
        stride *= n;
        tap_left /= taps;
        point_left /= n;
      }
      result.source.push_back(static_cast<std::uint32_t>(source));
    }
  }
  return result;
}

Neighbours adjoint(const Neighbours& forward) {
  const std::size_t points = forward.points;
  Neighbours result;
  result.points = points;
  std::vector<std::size_t> readers(points);
  for (std::size_t e = 0; e < forward.entries(); ++e) {
    std::ranges::fill(readers, 0);
    const std::size_t first = result.entries();
    for (std::size_t p = 0; p < points; ++p) {
      const std::size_t source = forward.source[e * points + p];
      if (source == points) continue;
      const std::size_t entry = first + readers[source]++;
      if (entry == result.entries()) {
        result.tap.push_back(forward.tap[e]);
        result.source.resize(result.entries() * points, static_cast<std::uint32_t>(points));
      }
      result.source[entry * points + source] = static_cast<std::uint32_t>(p);
    }
  }
  return result;
}

}  // namespace stap
