// Noise on the inputs of training (FitOptions::noise), the same on every device.
#pragma once

#include <cstddef>
#include <span>

#include "stap/nn/engine.h"

namespace stap {

/// The draws of the epoch that the job trains next: number p * (values of a state) + v is for value
/// v of the row at place p of the epoch's order.
Rng noise_of_epoch(const FitJob& job);

/// noisy = state [C][points] + noise * (its channel's deviation) * (the draws of place `place`).
void add_noise(const Rng& draws, std::size_t place, double noise, const Scaling& scaling,
               std::span<const float> state, float* noisy);

}  // namespace stap
