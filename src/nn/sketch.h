#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stap/core/committee.h"

namespace stap {

/// Adds the sketch of points first .. first+n-1, hidden [n][ld], to `features`.
using Sketch = std::function<void(std::size_t first, std::size_t n, const float* hidden,
                                  std::size_t ld, std::span<double> features)>;
/// The fixed random map from the hidden activations of one (member, step).
Sketch make_sketch(SketchKind kind, std::size_t member, std::size_t step, std::size_t channels,
                   std::size_t points);

/// The sparse map from the hidden activations of one (member, step) to kSketchSize
/// coordinates: every feature goes to four coordinates, one in each quarter, with signs +-1/2 drawn
/// by Philox from (channel, point, step, member). Distances are kept in expectation.
class SketchMap {
 public:
  SketchMap(std::size_t member, std::size_t step, std::size_t channels, std::size_t points);

  /// Adds the sketch of points first .. first+n-1, hidden [n][ld], to `features`.
  void add(std::size_t first, std::size_t n, const float* hidden, std::size_t ld,
           std::span<double> features) const;

  /// f(point, channel, coordinate, minus) for every term of the map, points ascending.
  template <class Function>
  void for_each(const Function& f) const {
    for (std::size_t t = 0; t < targets_.size(); ++t)
      f(t / 4 / channels_, t / 4 % channels_, targets_[t] & (kMinus - 1u), targets_[t] >= kMinus);
  }

 private:
  static constexpr std::uint16_t kMinus = 0x8000;

  std::size_t channels_;
  std::vector<std::uint16_t> targets_;  // [point][channel][4]: coordinate, top bit: minus
};

/// Weights of a feature in the coordinates 4 `group` .. 4 `group` + 3 of the gaussian map: normal
/// of variance 1 / kSketchSize. The four words that Philox makes of (channel, point, step, member)
/// with `group` in its key become two pairs of normals (Box-Muller).
std::array<double, 4> gaussian_weights(std::size_t member, std::size_t step, std::size_t channel,
                                       std::size_t point, std::size_t group);

}  // namespace stap
