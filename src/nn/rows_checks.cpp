#include "nn/rows_checks.h"

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

void check_block(bool exists, std::size_t index) {
  if (!exists) throw Error(ErrorKind::internal, fmt::format("there is no block of rows {}", index));
}

void check_rows(const Grid& grid, std::size_t count, std::size_t first, std::size_t n,
                std::size_t row_size) {
  if (row_size != grid.values())
    throw Error(ErrorKind::data, fmt::format("states of {} values, expected {} ({})", row_size,
                                             grid.values(), grid.shape_text()));
  if (first > count || n > count - first)
    throw Error(ErrorKind::internal,
                fmt::format("rows {} .. {} of a block of {}", first, first + n, count));
}

void check_indices(std::size_t count, std::span<const std::size_t> indices) {
  for (std::size_t index : indices)
    if (index >= count)
      throw Error(ErrorKind::internal, fmt::format("row {} of a block of {}", index, count));
}

void check_length(std::size_t a, std::size_t b) {
  if (a != b) throw Error(ErrorKind::internal, fmt::format("spans of {} and {}", a, b));
}

void check_advance(const FnoShape& shape, int members, std::size_t from_count,
                   std::span<const std::size_t> i, std::span<const int> member,
                   std::span<const double> time, std::size_t to_count,
                   std::span<const std::size_t> j, bool mean) {
  check_indices(from_count, i);
  check_indices(to_count, j);
  check_length(i.size(), j.size());
  check_length(i.size(), member.size());
  if (shape.options.time_input || !time.empty()) check_length(i.size(), time.size());
  for (int m : member) {
    if (m == kMean && !mean)
      throw Error(ErrorKind::internal, "the mean model has no hidden activations to sketch");
    if (m != kMean && (m < 0 || m >= members))
      throw Error(ErrorKind::internal, fmt::format("member {} of a committee of {}", m, members));
  }
}

}  // namespace stap
