// What a training step is given in the place of its rows, the same on every device: images of them
// under symmetries (FitJob::symmetries), and noise on the inputs (FitOptions::noise).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stap/nn/engine.h"

namespace stap {

/// Whether rows are anything but themselves.
bool is_augmented(const FitJob& job);

/// Which of the job's maps each row of the epoch that it trains next is an image under, by place in
/// the epoch's order. `images` is resized to `rows`, or to nothing where there are no maps.
void draw_images(const FitJob& job, std::size_t rows, std::vector<std::uint8_t>& images);

/// What the image of a row is told: `map`'s parameters are the last of what the row is told, in
/// that order; those of a map without any stay.
template <class T>
void map_told(const StateMap& map, std::span<const T> told, T* image) {
  const std::size_t before = told.size() - map.parameters.size();
  std::copy_n(told.begin(), before, image);
  map_values(map.parameters, told.data() + before, image + before);
}

/// The draws of the epoch that the job trains next: number p * (values of a state) + v is for value
/// v of the row at place p of the epoch's order.
Rng noise_of_epoch(const FitJob& job);

/// noisy = state [C][points] + noise * (its channel's deviation) * (the draws of place `place`).
/// They may be the same.
void add_noise(const Rng& draws, std::size_t place, double noise, const Scaling& scaling,
               std::span<const float> state, float* noisy);

}  // namespace stap
