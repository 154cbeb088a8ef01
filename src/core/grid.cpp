#include "stap/core/grid.h"

#include <cmath>

#include <fmt/format.h>

#include "core/sizes.h"
#include "stap/core/error.h"

namespace stap {

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

std::vector<std::string> unnamed_channels(std::size_t channels) {
  if (channels == 1) return {"u"};
  std::vector<std::string> names;
  for (std::size_t c = 0; c < channels; ++c) names.push_back(fmt::format("u{}", c));
  return names;
}

}  // namespace stap
