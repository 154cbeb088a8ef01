#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/core/grid.h"

namespace stap {

/// What is the same in every state of a problem: where there is none, and static channels.
struct FixedFields {
  /// [points]: 1 where there is a state; 0 in an obstacle, where every state is 0 and nothing
  /// counts. Empty: there is one everywhere.
  std::vector<std::uint8_t> mask{};
  std::vector<float> channels{};  ///< [count][points]: a coefficient, a forcing; networks get them

  std::size_t count(const Grid& grid) const { return channels.size() / grid.points_total(); }
  bool operator==(const FixedFields&) const = default;
};
using SharedFixedFields = std::shared_ptr<const FixedFields>;

/// The same as they were made, or null if neither hides nor tells anything: a mask of ones is none.
/// Throws Error(config) for fields of another grid, values that are not finite, and a mask of
/// zeros.
SharedFixedFields make_fixed_fields(const Grid& grid, FixedFields fields);
bool equal(const SharedFixedFields& a, const SharedFixedFields& b);
/// Hex digits of what they are; empty for none.
std::string sha256_of(const SharedFixedFields& fields);

inline bool is_masked(const FixedFields* fields, std::size_t point) {
  return fields != nullptr && !fields->mask.empty() && fields->mask[point] == 0;
}
/// Points of a grid that count.
std::size_t counted_points(const Grid& grid, const FixedFields* fields);
/// Zeros where the mask has none, in states of these points one after the other, whatever their
/// channels.
void clear_masked(const FixedFields* fields, std::span<double> states);

}  // namespace stap
