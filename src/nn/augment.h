// What a training step is given in the place of its rows, the same on every device: images of them
// under symmetries (FitJob::symmetries), and noise on the inputs (FitOptions::noise).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stap/nn/engine.h"

namespace stap {

/// Whether rows are anything but themselves.
bool is_augmented(const FitJob& job);

/// What is done to each row of the epoch that the job trains next, by place in the epoch's order:
/// which map it is an image under, and by which factor channels are multiplied, its logarithm
/// uniform between those of 1/2 and 2. Both are resized to `rows`, or to nothing where there are no
/// maps or no factor.
struct RowImages {
  std::vector<std::uint8_t> maps;
  std::vector<float> factors;
};
void draw_images(const FitJob& job, std::size_t rows, RowImages& images);

/// Multiplies the channels that have a factor.
void scale_state(const std::vector<char>& scaled, float factor, std::span<float> state);

/// The draws of the epoch that the job trains next: number p * (values of a state) + v is for value
/// v of the row at place p of the epoch's order.
Rng noise_of_epoch(const FitJob& job);

/// noisy = state [C][points] + noise * (its channel's deviation) * (the draws of place `place`).
/// They may be the same.
void add_noise(const Rng& draws, std::size_t place, double noise, const Scaling& scaling,
               std::span<const float> state, float* noisy);

}  // namespace stap
