#include "nn/augment.h"

namespace stap {

bool is_augmented(const FitJob& job) {
  return job.options.noise > 0 || !job.symmetries.empty();
}

void draw_images(const FitJob& job, std::size_t rows, std::vector<std::uint8_t>& images) {
  const std::size_t maps = job.symmetries.size();
  images.resize(maps == 0 ? 0 : rows);
  const Rng draws = job.rng.split("symmetry", static_cast<std::uint64_t>(job.epochs_done));
  for (std::size_t p = 0; p < images.size(); ++p)
    images[p] = static_cast<std::uint8_t>(draws.below(p, maps));
}

Rng noise_of_epoch(const FitJob& job) {
  return job.rng.split("noise", static_cast<std::uint64_t>(job.epochs_done));
}

void add_noise(const Rng& draws, std::size_t place, double noise, const Scaling& scaling,
               std::span<const float> state, float* noisy) {
  const std::size_t points = state.size() / scaling.deviation.size();
  for (std::size_t v = 0; v < state.size(); ++v) {
    const double deviation = noise * static_cast<double>(scaling.deviation[v / points]);
    noisy[v] = static_cast<float>(static_cast<double>(state[v]) +
                                  deviation * draws.normal(place * state.size() + v));
  }
}

}  // namespace stap
