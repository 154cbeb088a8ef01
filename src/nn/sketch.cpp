#include "nn/sketch.h"

#include "stap/core/rng.h"

namespace stap {
namespace {

constexpr std::size_t kQuarter = kSketchSize / 4;
// Any fixed key: the map must be the same for every candidate, run and round.
constexpr std::array<std::uint32_t, 2> kKey = {0x736b6574, 0x63683531};

}  // namespace

SketchMap::SketchMap(std::size_t member, std::size_t step, std::size_t channels, std::size_t points)
    : channels_(channels), targets_(points * channels * 4) {
  auto word = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
  for (std::size_t p = 0; p < points; ++p)
    for (std::size_t c = 0; c < channels; ++c) {
      const auto bits = philox({word(c), word(p), word(step), word(member)}, kKey);
      for (std::size_t k = 0; k < 4; ++k) {
        const auto coordinate = static_cast<std::uint16_t>(k * kQuarter + bits[k] % kQuarter);
        const bool minus = (bits[k] >> 31) != 0;
        targets_[(p * channels + c) * 4 + k] =
            static_cast<std::uint16_t>(coordinate | (minus ? kMinus : 0));
      }
    }
}

void SketchMap::add(std::size_t first, std::size_t n, const float* hidden, std::size_t ld,
                    std::span<double> features) const {
  // Sums of a run of points in float, its total in double: the runs are short.
  float sums[2][kSketchSize] = {};
  const std::uint16_t* target = targets_.data() + first * channels_ * 4;
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t c = 0; c < channels_; ++c, target += 4)
      for (std::size_t k = 0; k < 4; ++k)
        sums[target[k] >> 15][target[k] & (kMinus - 1)] += hidden[p * ld + c];
  for (std::size_t i = 0; i < kSketchSize; ++i)
    features[i] += 0.5 * (static_cast<double>(sums[0][i]) - static_cast<double>(sums[1][i]));
}

}  // namespace stap
