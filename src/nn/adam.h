// The optimiser's numbers, the same on every device.
#pragma once

#include <cstdint>

#include "stap/nn/options.h"

namespace stap {

/// The learning rate of an epoch (from 0).
double cosine_rate(const FitOptions& options, int epoch);

/// Adam's step `step` (from 1): w -= rate m / (root_scale sqrt(v) + epsilon).
struct AdamFactors {
  float rate, beta1, beta2, root_scale, epsilon;
};
AdamFactors adam_factors(const FitOptions& options, double rate, std::int64_t step);

}  // namespace stap
