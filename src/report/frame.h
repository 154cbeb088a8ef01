#pragma once

#include <vector>

#include "report/svg.h"
#include "report/ticks.h"

namespace stap {

/// The axes of a drawing: where values lie, in points from the top left.
struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;
  Span x{}, y{};
  Ticks x_ticks{}, y_ticks{};
  std::size_t label_rows = 1;  ///< of the labels below

  double at_x(double value) const { return left + x.part(value) * (right - left); }
  double at_y(double value) const { return bottom - y.part(value) * (bottom - top); }
};

/// Room for what stands around the axes.
struct Surroundings {
  double right = 0;  ///< labels at the ends of lines, a colour bar
  double below = 0;  ///< a legend
  std::size_t label_rows = 1;
};

/// The frame of axes in a drawing of this size. `x_whole`: only whole numbers have a meaning.
Frame make_frame(double width, double height, double font, const Axis& x_axis, const Axis& y_axis,
                 const Span& x, const Span& y, bool x_whole, const Surroundings& room);
/// The same with ticks that are made already (names, rounds); labels of none are "".
Ticks named_ticks(const std::vector<std::string>& names);

void draw_grid(Svg& svg, const Frame& frame, bool x_lines);
/// Lines, ticks and labels; in front of the data.
void draw_axes(Svg& svg, const Frame& frame, const Axis& x_axis, const Axis& y_axis);
/// How high ticks, their labels and the axis's own label below the frame are.
double below_frame(double font, std::size_t label_rows = 1);

}  // namespace stap
