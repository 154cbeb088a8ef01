#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stap/core/committee.h"

namespace stap {

/// Set in a target whose sign is minus.
inline constexpr std::uint16_t kSketchMinus = 0x8000;
/// Where an activation goes: to four coordinates, one in each quarter, with signs
/// +-1/2, drawn by Philox from (channel, point, step + 1, member). Distances are kept in
/// expectation.
std::array<std::uint16_t, 4> sketch_targets(std::size_t member, std::size_t step,
                                            std::size_t channel, std::size_t point);

/// The fixed random map of the hidden activations of one (member, step).
class SketchMap {
 public:
  SketchMap(std::size_t member, std::size_t step, std::size_t channels, std::size_t points);

  /// Adds the sketch of points first .. first+n-1, hidden [n][ld], to `features`.
  void add(std::size_t first, std::size_t n, const float* hidden, std::size_t ld,
           std::span<double> features) const;

 private:
  std::size_t channels_;
  std::vector<std::array<std::uint16_t, 4>> targets_;  // [point][channel]
};

}  // namespace stap
