#include "nn/sketch.h"

#include <cmath>
#include <memory>
#include <numbers>

#include "stap/core/rng.h"

namespace stap {
namespace {

constexpr std::size_t kQuarter = kSketchSize / 4;
// Any fixed key: the map must be the same for every candidate, run and round.
constexpr std::array<std::uint32_t, 2> kKey = {0x736b6574, 0x63683531};
constexpr std::uint32_t kGaussianKey = 0x67617573;

std::uint32_t word(std::size_t n) {
  return static_cast<std::uint32_t>(n);
}

// What Philox draws for an activation from. Steps count from 1 there, as they did when the first
// results were made.
std::array<std::uint32_t, 4> counter(std::size_t member, std::size_t step, std::size_t channel,
                                     std::size_t point) {
  return {word(channel), word(point), word(step + 1), word(member)};
}

// No weight is stored: 512 for every feature would be more than memory holds.
void add_gaussian(std::size_t member, std::size_t step, std::size_t channels, std::size_t first,
                  std::size_t n, const float* hidden, std::size_t ld, std::span<double> features) {
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t c = 0; c < channels; ++c) {
      const auto value = static_cast<double>(hidden[p * ld + c]);
      for (std::size_t group = 0; group < kSketchSize / 4; ++group) {
        const auto weights = gaussian_weights(member, step, c, first + p, group);
        for (std::size_t k = 0; k < 4; ++k) features[4 * group + k] += weights[k] * value;
      }
    }
}

}  // namespace

std::array<double, 4> gaussian_weights(std::size_t member, std::size_t step, std::size_t channel,
                                       std::size_t point, std::size_t group) {
  const auto bits = philox(counter(member, step, channel, point), {kGaussianKey, word(group)});
  const auto unit = [](std::uint32_t b) { return (static_cast<double>(b) + 0.5) * 0x1.0p-32; };
  std::array<double, 4> weights;
  for (std::size_t k = 0; k < 4; k += 2) {
    const double radius =
        std::sqrt(-2.0 * std::log(unit(bits[k])) / static_cast<double>(kSketchSize));
    const double angle = 2.0 * std::numbers::pi * unit(bits[k + 1]);
    weights[k] = radius * std::cos(angle);
    weights[k + 1] = radius * std::sin(angle);
  }
  return weights;
}

Sketch make_sketch(SketchKind kind, std::size_t member, std::size_t step, std::size_t channels,
                   std::size_t points) {
  if (kind == SketchKind::gaussian)
    return [=](std::size_t first, std::size_t n, const float* hidden, std::size_t ld,
               std::span<double> features) {
      add_gaussian(member, step, channels, first, n, hidden, ld, features);
    };
  return [map = std::make_shared<const SketchMap>(member, step, channels, points)](
             std::size_t first, std::size_t n, const float* hidden, std::size_t ld,
             std::span<double> features) { map->add(first, n, hidden, ld, features); };
}

std::array<std::uint16_t, 4> sketch_targets(std::size_t member, std::size_t step,
                                            std::size_t channel, std::size_t point) {
  const auto bits = philox(counter(member, step, channel, point), kKey);
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
