// The optimiser's numbers, the same on every device.
#pragma once

#include <cstdint>

#include "stap/nn/options.h"

namespace stap {

/// The learning rate of step `step` (from 0, of the whole training), which is one of epoch `epoch`.
double learning_rate(const FitOptions& options, int epoch, std::int64_t step);

/// Adam's step `step` (from 1): w -= rate m / (root_scale sqrt(v) + epsilon).
struct AdamFactors {
  float rate, beta1, beta2, root_scale, epsilon;
};
AdamFactors adam_factors(const FitOptions& options, double rate, std::int64_t step);

/// Behind step `step` (from 1) the average moves this part of the way to the weights. The decay is
/// smaller at first, so that the fresh weights are soon forgotten. 0: there is no average.
float average_part(const FitOptions& options, std::int64_t step);

}  // namespace stap
