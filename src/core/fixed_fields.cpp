#include "stap/core/fixed_fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/sha256.h"

namespace stap {

SharedFixedFields make_fixed_fields(const Grid& grid, FixedFields fields) {
  const std::size_t points = grid.points_total();
  if (!fields.mask.empty() && fields.mask.size() != points)
    throw Error(ErrorKind::config, fmt::format("a mask has {} points, but the grid {} has {}",
                                               fields.mask.size(), grid.shape_text(), points));
  if (fields.channels.size() % points != 0)
    throw Error(ErrorKind::config,
                fmt::format("fixed fields have {} values, expected channels of the {} points of "
                            "the grid {}",
                            fields.channels.size(), points, grid.shape_text()));
  if (!std::ranges::all_of(fields.channels, [](float value) { return std::isfinite(value); }))
    throw Error(ErrorKind::config, "fixed fields have values that are not finite");
  if (!fields.mask.empty() && std::ranges::count(fields.mask, 0) == std::ssize(fields.mask))
    throw Error(ErrorKind::config,
                "a mask is 0 everywhere, so that there is no state: expected 1 where there is one");
  if (std::ranges::count(fields.mask, 0) == 0) fields.mask.clear();
  if (fields == FixedFields{}) return nullptr;
  return std::make_shared<const FixedFields>(std::move(fields));
}

bool equal(const SharedFixedFields& a, const SharedFixedFields& b) {
  return a == b || (a && b && *a == *b);
}

std::string sha256_of(const SharedFixedFields& fields) {
  if (!fields) return {};
  Sha256 sum;
  sum.add(std::as_bytes(std::span(fields->mask)));
  sum.add(std::as_bytes(std::span(fields->channels)));
  return sum.hex();
}

std::size_t counted_points(const Grid& grid, const FixedFields* fields) {
  const std::size_t points = grid.points_total();
  if (fields == nullptr) return points;
  return points - static_cast<std::size_t>(std::ranges::count(fields->mask, 0));
}

void clear_masked(const FixedFields* fields, std::span<double> states) {
  if (fields == nullptr || fields->mask.empty()) return;
  const std::size_t points = fields->mask.size();
  for (std::size_t v = 0; v < states.size(); ++v)
    if (fields->mask[v % points] == 0) states[v] = 0.0;
}

}  // namespace stap
