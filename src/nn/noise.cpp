#include "nn/noise.h"

#include <cstdint>

namespace stap {

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
