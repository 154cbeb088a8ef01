#include "nn/augment.h"

#include <cmath>

namespace stap {

bool is_augmented(const FitJob& job) {
  return job.options.noise > 0 || (job.symmetries != nullptr && !job.symmetries->empty());
}

void draw_images(const FitJob& job, std::size_t rows, RowImages& images) {
  const std::size_t maps = job.symmetries == nullptr ? 0 : job.symmetries->maps.size();
  const bool scaled = job.symmetries != nullptr && !job.symmetries->scaled.empty();
  const auto epoch = static_cast<std::uint64_t>(job.epochs_done);
  const Rng map = job.rng.split("symmetry", epoch), factor = job.rng.split("factor", epoch);
  images.maps.resize(maps == 0 ? 0 : rows);
  images.factors.resize(scaled ? rows : 0);
  for (std::size_t p = 0; p < images.maps.size(); ++p)
    images.maps[p] = static_cast<std::uint8_t>(map.below(p, maps));
  for (std::size_t p = 0; p < images.factors.size(); ++p)
    images.factors[p] = static_cast<float>(std::exp2(factor.uniform(p, -1.0, 1.0)));
}

void scale_state(const std::vector<char>& scaled, float factor, std::span<float> state) {
  const std::size_t points = state.size() / scaled.size();
  for (std::size_t v = 0; v < state.size(); ++v)
    if (scaled[v / points]) state[v] *= factor;
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
