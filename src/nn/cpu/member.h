#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "nn/cpu/network.h"

namespace stap::cpu {

/// A member in the packed layout, with its optimiser's memory.
struct Member {
  explicit Member(const Network& network)
      : scaling(unit_scaling(network.spec.out_channels())),
        weights(network.body->size()),
        moment1(network.body->size()),
        moment2(network.body->size()),
        loss_factors(network.spec.out_channels(), 1.0f) {}

  MemberView view() const { return {weights.data(), &scaling, loss_factors.data()}; }
  void set_loss_factors(std::span<const float> factors) {
    if (factors.empty())
      std::ranges::fill(loss_factors, 1.0f);
    else
      std::ranges::copy(factors, loss_factors.begin());
  }

  Scaling scaling;
  Buffer<float> weights, moment1, moment2;
  std::vector<float> loss_factors;  // of the training under way
  std::vector<float> average;       // running one of the weights; empty: none
  std::int64_t steps = 0;
};

}  // namespace stap::cpu
