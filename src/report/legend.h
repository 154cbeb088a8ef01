#pragma once

#include <string>
#include <vector>

#include "report/frame.h"

namespace stap {

/// How a series is drawn.
struct Pen {
  std::string colour, dashes;  ///< dashes in points
  double width = 1.1, opacity = 1;
  std::string classes;  ///< "line g3"
};
Pen pen_of(const Series& series);
/// The mark of a group's points as a path around a place; size: that of a circle with this radius.
std::string mark_path(std::size_t group, double x, double y, double radius);

/// Of its bars, and their key in a legend.
std::string bar_attributes(const Series& series, std::string_view name);
/// Points of so many values are drawn as dots, not as the shapes of their groups.
bool drawn_as_dots(const Series& series);

/// Which series have a name in the drawing: those that are drawn, seeds apart, once each.
std::vector<const Series*> named_series(const Chart& chart, const FigureStyle& style);

/// Names below the axes, in rows.
class Legend {
 public:
  /// `width`: of a row.
  Legend(std::vector<const Series*> series, double width, double font);
  double height() const { return static_cast<double>(rows_.size()) * row_height(); }
  double widest() const { return widest_; }  ///< of an entry
  void draw(Svg& svg, double left, double top) const;

 private:
  struct Entry {
    const Series* series;
    std::string label;
    double width;
  };
  double row_height() const { return 1.45 * font_; }
  double sample(const Series& series) const;

  double font_, widest_ = 0;
  std::vector<std::vector<Entry>> rows_;
};

/// Names at the right ends of lines, where there are few of them: how wide they are; 0 where a
/// legend is needed.
double end_labels_width(const std::vector<const Series*>& series, double width, double font);
void draw_end_labels(Svg& svg, const Frame& frame, const std::vector<const Series*>& series);

}  // namespace stap
