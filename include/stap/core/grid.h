#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stap {

/// How an axis ends: it goes round, or it has a wall at both ends. Then its points are the centres
/// of its cells, or the first and the last one stand on the walls.
enum class Boundary { periodic, centres, points };

/// A uniform grid and the channels on it. Sizes may differ from axis to axis.
/// A state on it is an array [C, X...], the last axis contiguous.
struct Grid {
  std::size_t channels = 1;         ///< C
  std::vector<std::size_t> points;  ///< X...: points per axis; 1 or 2 axes
  std::vector<double> lengths;      ///< domain length per axis, in the problem's unit
  std::vector<Boundary> ends{};     ///< per axis; empty: all are periodic (with_walls())

  Boundary end(std::size_t axis) const { return ends.empty() ? Boundary::periodic : ends[axis]; }
  bool walled() const { return !ends.empty(); }
  std::size_t axes() const { return points.size(); }
  /// Number of grid points (product over axes).
  std::size_t points_total() const;
  /// Number of values of one state: channels x points.
  std::size_t values() const { return channels * points_total(); }
  double spacing(std::size_t axis) const {
    return lengths[axis] / static_cast<double>(points[axis] - (end(axis) == Boundary::points));
  }
  /// "1 x 256" or "4 x 32 x 32", for messages.
  std::string shape_text() const;

  bool operator==(const Grid&) const = default;
};

/// A checked grid. Throws Error(config) unless there are 1 or 2 axes, one length per axis, at least
/// one channel and point everywhere, and every length is finite and above 0.
Grid make_grid(std::size_t channels, std::vector<std::size_t> points, std::vector<double> lengths);

/// The grid with its axes' ends by name, one per axis or none (all periodic). Throws Error(config)
/// for other words and numbers of them, and for an axis of one point between walls.
Grid with_walls(Grid grid, const std::vector<std::string>& names);
/// Those names; none where all axes are periodic.
std::vector<std::string> wall_names(const Grid& grid);

/// Names of channels that nobody has named: u of a single one, else u0, u1, ...
std::vector<std::string> unnamed_channels(std::size_t channels);

}  // namespace stap
