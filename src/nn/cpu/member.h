#pragma once

#include <cstdint>
#include <vector>

#include "core/buffer.h"
#include "nn/cpu/network.h"

namespace stap::cpu {

/// A member in the packed layout, with its optimiser's memory.
struct Member {
  explicit Member(const Network& network)
      : scaling(unit_scaling(network.layout.out)),
        weights(network.layout.size),
        moment1(network.layout.size),
        moment2(network.layout.size) {}

  MemberView view() const { return {weights.data(), &scaling}; }

  Scaling scaling;
  Buffer<float> weights, moment1, moment2;
  std::vector<float> average;  // running one of the weights; empty: none
  std::int64_t steps = 0;
};

}  // namespace stap::cpu
