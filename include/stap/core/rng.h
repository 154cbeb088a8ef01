#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stap {

/// Philox 4x32 with ten rounds (Salmon et al., SC 2011): a bijection of the counter for each key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A random stream as a value: draw i is a pure function of (key, i), so nothing is ever saved and
/// order, batch and threads cannot matter. Streams are split by label and index; keys are made of
/// ids (candidate, round, member, epoch), never of positions.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  /// The independent stream of (label, index) below this one.
  Rng split(std::string_view label, std::uint64_t index = 0) const;

  std::uint64_t bits(std::uint64_t i) const;
  /// [0, 1), 53 bits.
  double uniform(std::uint64_t i) const;
  /// [low, high).
  double uniform(std::uint64_t i, double low, double high) const;
  /// Standard normal (Box-Muller).
  double normal(std::uint64_t i) const;
  /// Standard Gumbel, -log(-log(u)).
  double gumbel(std::uint64_t i) const;
  /// 0 .. n-1, n >= 1, without bias beyond 2^-64 n.
  std::uint64_t below(std::uint64_t i, std::uint64_t n) const;

  std::uint64_t key() const { return key_; }

 private:
  std::uint64_t key_;
};

/// A uniformly random order of 0 .. n-1 (Fisher-Yates on draws 0 .. n-2 of the stream).
/// `order` is resized to n; no allocation when its capacity suffices.
void shuffle(const Rng& rng, std::size_t n, std::vector<std::uint32_t>& order);

}  // namespace stap
