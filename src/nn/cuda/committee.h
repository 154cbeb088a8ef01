#pragma once

#include <memory>
#include <vector>

#include "nn/cuda/body.h"
#include "stap/core/committee.h"

namespace stap::cuda {

/// What an engine shares with its committees; it outlives them.
struct Device {
  NetworkSpec spec;
  Net net;
  const Body* body;
  bool exact;
  cudaStream_t stream;
};

std::unique_ptr<Committee> make_committee(const Device& device, std::vector<int> members);

}  // namespace stap::cuda
