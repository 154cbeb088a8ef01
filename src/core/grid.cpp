#include "stap/core/grid.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/sizes.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr std::pair<std::string_view, Boundary> kBoundaries[] = {
    {"periodic", Boundary::periodic}, {"centres", Boundary::centres}, {"points", Boundary::points}};

}  // namespace

std::size_t Grid::points_total() const {
  std::size_t total = 1;
  for (std::size_t n : points) total *= n;
  return total;
}

std::string Grid::shape_text() const {
  std::string text = fmt::format("{}", channels);
  for (std::size_t n : points) text += fmt::format(" x {}", n);
  return text;
}

Grid make_grid(std::size_t channels, std::vector<std::size_t> points, std::vector<double> lengths) {
  if (points.empty() || points.size() > 2)
    throw Error(ErrorKind::config,
                fmt::format("a grid has {} axes, expected 1 or 2", points.size()));
  if (lengths.size() != points.size())
    throw Error(ErrorKind::config,
                fmt::format("a grid of {} axes has {} lengths, expected one each", points.size(),
                            lengths.size()));
  if (channels == 0) throw Error(ErrorKind::config, "a grid has 0 channels, expected at least 1");
  for (std::size_t n : points)
    if (n == 0) throw Error(ErrorKind::config, "a grid axis has 0 points, expected at least 1");
  for (double length : lengths)
    if (!std::isfinite(length) || length <= 0)
      throw Error(
          ErrorKind::config,
          fmt::format("a grid axis has length {}, expected a finite value above 0", length));
  Grid grid{channels, std::move(points), std::move(lengths)};
  std::size_t bytes = product_of({channels, sizeof(double)});
  for (std::size_t n : grid.points) bytes = product_of({bytes, n});
  if (bytes > kMaxBytes)
    throw Error(ErrorKind::config, fmt::format("a grid of {} has states of more than {} bytes",
                                               grid.shape_text(), kMaxBytes));
  return grid;
}

Grid with_walls(Grid grid, const std::vector<std::string>& names) {
  grid.ends.clear();
  if (!names.empty() && names.size() != grid.axes())
    throw Error(ErrorKind::config,
                fmt::format("walls [{}] are of {} axes, but the grid {} has {}: say how each ends",
                            fmt::join(names, ", "), names.size(), grid.shape_text(), grid.axes()));
  for (std::size_t axis = 0; axis < names.size(); ++axis) {
    const auto* found = std::ranges::find(kBoundaries, names[axis],
                                          [](const auto& one) { return std::string(one.first); });
    if (found == std::end(kBoundaries))
      throw Error(ErrorKind::config,
                  fmt::format("an axis ends '{}', expected periodic, or what its points between "
                              "two walls are: centres (of cells) or points (the first and the "
                              "last one stand on the walls)",
                              names[axis]));
    if (found->second != Boundary::periodic && grid.points[axis] < 2)
      throw Error(ErrorKind::config,
                  "an axis has one point between its walls, expected at least 2");
    grid.ends.push_back(found->second);
  }
  if (std::ranges::count(grid.ends, Boundary::periodic) == std::ssize(grid.ends)) grid.ends.clear();
  return grid;
}

std::vector<std::string> wall_names(const Grid& grid) {
  std::vector<std::string> names;
  for (const Boundary end : grid.ends)
    names.emplace_back(kBoundaries[static_cast<std::size_t>(end)].first);
  return names;
}

std::vector<std::string> unnamed_channels(std::size_t channels) {
  if (channels == 1) return {"u"};
  std::vector<std::string> names;
  for (std::size_t c = 0; c < channels; ++c) names.push_back(fmt::format("u{}", c));
  return names;
}

}  // namespace stap
