#pragma once

#include <memory>
#include <vector>

#include "nn/cuda/network.h"
#include "stap/core/committee.h"

namespace stap::cuda {

/// What an engine shares with its committees; it outlives them.
struct Device {
  FnoShape shape;
  Net net;
  const Transform* transform;
  bool exact;
  cudaStream_t stream;
};

std::unique_ptr<Committee> make_committee(const Device& device, std::vector<int> members);

}  // namespace stap::cuda
