#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stap/core/rng.h"

namespace stap {

/// A sampling pattern S in {0,1}^L: bit i set means that step i is bought from the solver.
class Pattern {
 public:
  Pattern() = default;
  /// L steps, none or all of them bought.
  explicit Pattern(std::size_t steps, bool bought = false) : bits_(steps, bought ? 1 : 0) {}
  /// "0110": one character a step. Throws Error(config) on anything but 0 and 1.
  static Pattern parse(std::string_view text);

  std::size_t steps() const { return bits_.size(); }
  bool operator[](std::size_t step) const { return bits_[step] != 0; }
  void set(std::size_t step, bool bought) { bits_[step] = bought ? 1 : 0; }

  /// Number of steps bought.
  std::size_t cost() const;
  /// One past the last bought step: where a walk ends; 0 for an empty pattern.
  std::size_t end() const;
  /// The same pattern with only its first `cost` bought steps kept.
  Pattern first(std::size_t cost) const;
  /// Every bit flipped with probability `epsilon`: bit i by draw i of `rng`.
  Pattern flipped(double epsilon, const Rng& rng) const;
  std::string text() const;

  bool operator==(const Pattern&) const = default;

 private:
  std::vector<std::uint8_t> bits_;
};

}  // namespace stap
