#include "nn/sketch.h"

#include "stap/core/rng.h"

namespace stap {
namespace {

constexpr std::size_t kQuarter = kSketchSize / 4;
// Any fixed key: the map must be the same for every candidate, run and round.
constexpr std::array<std::uint32_t, 2> kKey = {0x736b6574, 0x63683531};

std::uint32_t word(std::size_t n) {
  return static_cast<std::uint32_t>(n);
}

}  // namespace

std::array<std::uint16_t, 4> sketch_targets(std::size_t member, std::size_t step,
                                            std::size_t channel, std::size_t point) {
  // Steps count from 1 here, as they did when the first results were made.
  const auto bits = philox({word(channel), word(point), word(step + 1), word(member)}, kKey);
  std::array<std::uint16_t, 4> targets;
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t coordinate = k * kQuarter + bits[k] % kQuarter;
    targets[k] = static_cast<std::uint16_t>(coordinate | ((bits[k] >> 31) != 0 ? kSketchMinus : 0));
  }
  return targets;
}

SketchMap::SketchMap(std::size_t member, std::size_t step, std::size_t channels, std::size_t points)
    : channels_(channels), targets_(points * channels) {
  for (std::size_t p = 0; p < points; ++p)
    for (std::size_t c = 0; c < channels; ++c)
      targets_[p * channels + c] = sketch_targets(member, step, c, p);
}

void SketchMap::add(std::size_t first, std::size_t n, const float* hidden, std::size_t ld,
                    std::span<double> features) const {
  // Sums of a run of points in float, its total in double: the runs are short.
  float sums[2][kSketchSize] = {};
  const std::array<std::uint16_t, 4>* targets = targets_.data() + first * channels_;
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t c = 0; c < channels_; ++c, ++targets)
      for (const std::uint16_t target : *targets)
        sums[target >> 15][target & (kSketchMinus - 1)] += hidden[p * ld + c];
  for (std::size_t i = 0; i < kSketchSize; ++i)
    features[i] += 0.5 * (static_cast<double>(sums[0][i]) - static_cast<double>(sums[1][i]));
}

}  // namespace stap
