#include "core/block_size.h"

#include <algorithm>

#include "core/parallel.h"

namespace stap {
namespace {

constexpr std::size_t kMostLanes = 8;
constexpr std::size_t kFirstRows = 32;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

}  // namespace

BlockSize::BlockSize(std::size_t row_bytes, int threads, double seconds)
    : seconds_(seconds), unit_(kMostLanes * static_cast<std::size_t>(thread_count(threads))) {
  const auto whole_units = [&](std::size_t rows) {
    return std::max<std::size_t>(1, rows / unit_) * unit_;
  };
  most_ = whole_units(kMostBytes / std::max<std::size_t>(1, row_bytes));
  rows_ = std::min(whole_units(kFirstRows), most_);
}

void BlockSize::took(std::size_t rows, double seconds) {
  const double fitting = seconds_ * static_cast<double>(rows) / std::max(seconds, 1e-9);
  const std::size_t most = std::min(most_, 2 * rows_);
  const std::size_t units = fitting < static_cast<double>(most)
                                ? static_cast<std::size_t>(fitting) / unit_
                                : most / unit_;
  rows_ = std::max<std::size_t>(1, units) * unit_;
}

}  // namespace stap
