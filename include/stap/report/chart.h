#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "stap/config/value.h"

// Charts as values, and as SVG. Texts are raw: whoever writes them into a document escapes them.
namespace stap {

struct Axis {
  std::string label{}, unit{};  ///< the unit may be empty
  bool log = false;
  std::vector<std::string> names{};  ///< of the values 0, 1, ...; empty: numbers
  bool whole = false;                ///< only whole numbers have a meaning (rounds, epochs)
  /// What the axis shows at least; NaN: what the values need.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

/// Groups from here on are greys: of what is no method.
inline constexpr std::size_t kNoMethod = 1000;

/// What is drawn of one method, phase or the like. Values that are not finite are gaps, and so are
/// those that a logarithmic axis cannot show.
struct Series {
  enum class Mark { line, points, bars };

  std::string label{};
  std::size_t group = 0;  ///< colour: the same method has the same one in all charts of a report
  Mark mark = Mark::line;
  bool seed = false;       ///< one of several that a mean stands for: faint, hidden at first
  bool published = false;  ///< from the paper: faint and dashed
  bool guide = false;      ///< helps reading (break-even, y = x): thin and grey, no part of ranges
  std::vector<double> x{}, y{};
  std::vector<double> low{}, high{};  ///< a band, of points whiskers; empty: none
};

struct Chart {
  std::string title{}, note{};  ///< what it shows; what must be known to read it
  Axis x{}, y{};
  std::vector<Series> series{};
};

struct FigureStyle {
  double width_mm = 85, height_mm = 60, font_pt = 8;
  bool page = false;   ///< for an HTML page: as wide as there is room
  bool seeds = false;  ///< draw them, too
};

/// A complete <svg> element. Presentation attributes say all; classes (axis, grid, text, line,
/// band, mark, and g0, g1, ... for groups) let a style sheet recolour it. The title is not drawn
/// but is the element's name; values that are left out are told in it. Never throws for odd values.
std::string svg_text(const Chart& chart, const FigureStyle& style);

/// For scripts, the members by their names; `mark` as text. Numbers have six digits, what is not
/// finite becomes null in JSON.
config::Value to_value(const Chart& chart);

/// "#rrggbb" of a group, and the pattern of dashes (SVG's stroke-dasharray; empty: solid) that
/// tells groups apart without colours.
std::string group_colour(std::size_t group);
std::string group_dashes(std::size_t group);

}  // namespace stap
