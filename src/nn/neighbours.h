// Which points a convolution reads: tables, made on the host for both devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stap/nn/network.h"

namespace stap {

/// How an axis goes on beyond its ends: from the other one, with zeros, or mirrored at a wall half
/// a cell away (point -1 is point 0 again) or at the last point itself (point -1 is point 1).
enum class Beyond { periodic, zero, mirror, reflect };
/// Per axis of the network's body.
std::vector<Beyond> beyond(const NetworkSpec& spec);
/// The point of an axis of n points that stands at i, at most n - 1 beyond an end; n for none.
std::size_t continued(std::ptrdiff_t i, std::ptrdiff_t n, Beyond padding);

/// Entry e adds to point p what tap[e]'s weights make of point source[e * points + p]; `points`
/// stands for none, where fields have a point of zeros.
struct Neighbours {
  std::size_t points = 0;
  std::vector<std::uint32_t> tap, source;

  std::size_t entries() const { return tap.size(); }
};

/// Of a convolution with so many taps per axis (odd), entry e of which is tap e, the last axis
/// contiguous. Taps reach less far than any axis has points.
Neighbours neighbours(std::span<const std::size_t> points, std::span<const Beyond> padding,
                      std::size_t taps, std::size_t dilation);
/// Of its adjoint: who has read a point, by which tap. Taps rise; one has several entries where a
/// mirror makes it read a point more than once.
Neighbours adjoint(const Neighbours& forward);

}  // namespace stap
