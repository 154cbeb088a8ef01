#pragma once

#include <cstddef>

namespace stap {

/// How many rows the next block should have, so that it takes the time it should, whatever a row
/// costs: few at first, then at most twice as many as before. Multiples of 8 rows (the most lanes
/// of a register) times threads, at most 64 MiB; rows are the same however they are cut.
class BlockSize {
 public:
  /// `row_bytes`: of one row of the result. `threads`: 0 = all. `seconds`: that a block should
  /// take.
  BlockSize(std::size_t row_bytes, int threads, double seconds);

  std::size_t rows() const { return rows_; }
  /// A block of `rows` took this long.
  void took(std::size_t rows, double seconds);

 private:
  double seconds_;
  std::size_t unit_, most_, rows_;
};

}  // namespace stap
