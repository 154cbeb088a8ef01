#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nn/cuda/device_array.h"
#include "nn/cuda/kernels.h"

namespace stap::cuda {

/// The sketch of one (member, step), turned round: what each coordinate sums, as BundleSketch
/// points at it. A coordinate's terms stand in the order of their activations.
struct SketchLists {
  DeviceArray<std::uint32_t> first;
  DeviceArray<std::uint16_t> entries;

  const ushort4* fours() const { return reinterpret_cast<const ushort4*>(entries.data()); }
  std::size_t bytes() const {
    return first.size() * sizeof(std::uint32_t) + entries.size() * sizeof(std::uint16_t);
  }
};
/// `channels` of the Net::projection activations of a point are real ones; `table`: body_points().
SketchLists make_sketch_lists(const Net& net, std::span<const BodyPoint> table,
                              std::size_t channels, std::size_t member, std::size_t step);

}  // namespace stap::cuda
