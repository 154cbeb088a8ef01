#pragma once

// Arithmetic of sizes that users choose: a result that would not fit is the largest number, so that
// an estimate is too large to be used, and never small by accident.

#include <cstddef>
#include <initializer_list>
#include <limits>

namespace stap {

/// Most bytes of anything that a study has as one piece: a state, a pool, a test set (1 PiB).
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 50;

inline std::size_t product_of(std::initializer_list<std::size_t> sizes) {
  std::size_t product = 1;
  bool fits = true;
  for (const std::size_t size : sizes) {
    if (size == 0) return 0;
    fits = !__builtin_mul_overflow(product, size, &product) && fits;
  }
  return fits ? product : std::numeric_limits<std::size_t>::max();
}

inline std::size_t sum_of(std::initializer_list<std::size_t> sizes) {
  std::size_t sum = 0;
  for (const std::size_t size : sizes)
    if (__builtin_add_overflow(sum, size, &sum)) return std::numeric_limits<std::size_t>::max();
  return sum;
}

}  // namespace stap
