#include "report/draw_series.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stap {
namespace {

constexpr std::size_t kMarksMost = 24;  // points of a line that get a mark each
constexpr double kBarsShare = 0.8;      // of the distance between groups of bars
constexpr double kLeastSeen = 0.8;      // points; a lower bar is lost in its axis

bool shown(const Frame& frame, const Series& series, std::size_t i) {
  return is_shown(series, i, frame.x.log, frame.y.log);
}

double clamped_y(const Frame& frame, double value) {
  return frame.at_y(std::clamp(value, frame.y.low, frame.y.high));
}

// The end of an interval: a bar across, or an arrow where it goes on beyond the axis.
std::string interval_end(const Frame& frame, double x, double value, double size) {
  const double y = clamped_y(frame, value);
  if (!is_open(value, frame.y.log))
    return fmt::format("M{} {}H{}", coordinate(x - size), coordinate(y), coordinate(x + size));
  const double back = y + (y > (frame.top + frame.bottom) / 2 ? -1.5 : 1.5) * size;
  return fmt::format("M{} {}L{} {}L{} {}", coordinate(x - size), coordinate(back), coordinate(x),
                     coordinate(y), coordinate(x + size), coordinate(back));
}

void draw_whiskers(Svg& svg, const Frame& frame, const Series& series) {
  const Pen pen = pen_of(series);
  std::string path;
  for (std::size_t i = 0; i < length_of(series); ++i) {
    if (!shown(frame, series, i) || std::isnan(series.low[i]) || std::isnan(series.high[i]))
      continue;
    const double x = frame.at_x(series.x[i]), cap = 0.2 * svg.font();
    path += fmt::format("M{} {}V{}", coordinate(x), coordinate(clamped_y(frame, series.low[i])),
                        coordinate(clamped_y(frame, series.high[i])));
    for (const double end : {series.low[i], series.high[i]})
      path += interval_end(frame, x, end, cap);
  }
  if (!path.empty())
    svg.add(fmt::format(
        "<path d=\"{}\" class=\"line g{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"0.8\"/>\n",
        path, series.group, series.mark == Series::Mark::bars ? "#333333" : pen.colour));
}

}  // namespace

std::size_t length_of(const Series& series) {
  return std::min(series.x.size(), series.y.size());
}

bool has_band(const Series& series) {
  return series.low.size() >= length_of(series) && series.high.size() >= length_of(series) &&
         length_of(series) > 0;
}

bool is_shown(const Series& series, std::size_t i, bool x_log, bool y_log) {
  return can_show(series.x[i], x_log) && can_show(series.y[i], y_log);
}

bool is_open(double end, bool y_log) {
  return !std::isnan(end) && !can_show(end, y_log);
}

void draw_band(Svg& svg, const Frame& frame, const Series& series, double opacity) {
  const auto whole = [&](std::size_t i) {
    return shown(frame, series, i) && !std::isnan(series.low[i]) && !std::isnan(series.high[i]);
  };
  std::string arrows;
  for (std::size_t i = 0; i < length_of(series); ++i)
    for (const double end : {series.low[i], series.high[i]})
      if (whole(i) && is_open(end, frame.y.log))
        arrows += interval_end(frame, frame.at_x(series.x[i]), end, 0.3 * svg.font());
  if (!arrows.empty())
    svg.add(fmt::format(
        "<path d=\"{}\" class=\"line g{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"0.8\"/>\n",
        arrows, series.group, pen_of(series).colour));
  for (std::size_t i = 0; i < length_of(series);) {
    std::size_t end = i;
    while (end < length_of(series) && whole(end)) ++end;
    if (end - i >= 2) {
      std::string path;
      for (std::size_t k = i; k < end; ++k)
        path +=
            fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(frame.at_x(series.x[k])),
                        coordinate(clamped_y(frame, series.high[k])));
      for (std::size_t k = end; k-- > i;)
        path += fmt::format("L{} {}", coordinate(frame.at_x(series.x[k])),
                            coordinate(clamped_y(frame, series.low[k])));
      svg.add(fmt::format("<path d=\"{}Z\" class=\"band g{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
                          path, series.group, pen_of(series).colour, coordinate(opacity)));
    }
    i = std::max(end, i + 1);
  }
}

void draw_line(Svg& svg, const Frame& frame, const Series& series) {
  const Pen pen = pen_of(series);
  std::string path, lonely, marks;
  std::size_t count = 0;
  for (std::size_t i = 0; i < length_of(series); ++i) count += shown(frame, series, i) ? 1 : 0;
  const bool marked = count <= kMarksMost && !series.published && !series.seed;
  bool open = false;
  for (std::size_t i = 0; i < length_of(series); ++i) {
    if (!shown(frame, series, i)) {
      open = false;
      continue;
    }
    const double x = frame.at_x(series.x[i]), y = frame.at_y(series.y[i]);
    path += fmt::format("{}{} {}", open ? "L" : "M", coordinate(x), coordinate(y));
    const bool more = i + 1 < length_of(series) && shown(frame, series, i + 1);
    if (marked || (!open && !more)) marks += mark_path(series.group, x, y, 0.24 * svg.font());
    open = true;
  }
  if (path.empty()) return;
  svg.add(
      fmt::format("<path d=\"{}\" class=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
                  "stroke-linejoin=\"round\"",
                  path, pen.classes, pen.colour, coordinate(pen.width)));
  if (!pen.dashes.empty()) svg.add(fmt::format(" stroke-dasharray=\"{}\"", pen.dashes));
  if (pen.opacity < 1) svg.add(fmt::format(" stroke-opacity=\"{}\"", coordinate(pen.opacity)));
  svg.add("/>\n");
  if (!marks.empty())
    svg.add(fmt::format("<path d=\"{}\" class=\"mark g{}\" fill=\"{}\"/>\n", marks, series.group,
                        pen.colour));
}

void draw_points(Svg& svg, const Frame& frame, const Series& series) {
  std::string path;
  std::size_t count = 0;
  for (std::size_t i = 0; i < length_of(series); ++i) count += shown(frame, series, i) ? 1 : 0;
  const bool shapes = !drawn_as_dots(series);
  for (std::size_t i = 0; i < length_of(series); ++i) {
    if (!shown(frame, series, i)) continue;
    const double x = frame.at_x(series.x[i]), y = frame.at_y(series.y[i]);
    path += shapes ? mark_path(series.group, x, y, 0.26 * svg.font())
                   : fmt::format("M{} {}h.01", coordinate(x), coordinate(y));
  }
  if (path.empty()) return;
  const Pen pen = pen_of(series);
  if (has_band(series)) draw_whiskers(svg, frame, series);
  if (shapes)
    svg.add(fmt::format("<path d=\"{}\" class=\"mark g{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
                        path, series.group, pen.colour, count > 30 ? "0.7" : "1"));
  else  // dots (not of no length: those have no square caps in PDF): round and square ones tell
        // groups apart without colours
    svg.add(fmt::format(
        "<path d=\"{}\" class=\"dots g{}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"{}\" stroke-linecap=\"{}\" stroke-opacity=\"{}\"/>\n",
        path, series.group, pen.colour, coordinate((count > 400 ? 0.2 : 0.3) * svg.font()),
        series.group % 2 == 0 ? "round" : "square", count > 400 ? "0.4" : "0.6"));
}

void draw_bars(Svg& svg, const Frame& frame, const Series& series, std::size_t place,
               std::size_t places) {
  const double wide = kBarsShare / static_cast<double>(std::max<std::size_t>(places, 1));
  const double base =
      frame.y.log ? frame.bottom : frame.at_y(std::clamp(0.0, frame.y.low, frame.y.high));
  for (std::size_t i = 0; i < length_of(series); ++i) {
    if (!shown(frame, series, i)) continue;
    const double from = series.x[i] - kBarsShare / 2 + wide * static_cast<double>(place);
    if (frame.x.log) continue;  // bars have no width there
    const double left = frame.at_x(from), right = frame.at_x(from + 0.92 * wide);
    const double y = clamped_y(frame, series.y[i]);
    // What cannot be seen is told, nothing as well as a little.
    if (std::abs(base - y) < kLeastSeen) {
      const std::string number = number_text(series.y[i]);
      const double wide_text = text_width(number, svg.font());
      if (wide_text <= right - left || number.size() == 1)
        svg.text((left + right) / 2, base - 0.7 * svg.font(), Anchor::middle, number);
      else
        svg.upright_text((left + right) / 2, base - 0.4 * svg.font() - wide_text / 2, number);
    }
    svg.rectangle(left, std::min(y, base), right - left, std::abs(base - y),
                  bar_attributes(series, "bar"));
    if (has_band(series) && !std::isnan(series.low[i]) && !std::isnan(series.high[i])) {
      const double x = (left + right) / 2;
      svg.line(x, clamped_y(frame, series.low[i]), x, clamped_y(frame, series.high[i]),
               "class=\"whisker\" stroke=\"#333333\" stroke-width=\"0.7\"");
    }
  }
}

void draw_guide(Svg& svg, const Frame& frame, const Series& series) {
  const Pen pen = pen_of(series);
  for (std::size_t i = 0; i + 1 < length_of(series); ++i) {
    if (!shown(frame, series, i) || !shown(frame, series, i + 1)) continue;
    const double x = frame.at_x(series.x[i]), y = frame.at_y(series.y[i]);
    const double dx = frame.at_x(series.x[i + 1]) - x, dy = frame.at_y(series.y[i + 1]) - y;
    double from = 0, to = 1;
    const auto cut = [&](double start, double along, double low, double high) {
      if (along == 0) {
        if (start < low || start > high) to = -1;
        return;
      }
      from = std::max(from, std::min((low - start) / along, (high - start) / along));
      to = std::min(to, std::max((low - start) / along, (high - start) / along));
    };
    cut(x, dx, frame.left, frame.right);
    cut(y, dy, frame.top, frame.bottom);
    if (!(from < to)) continue;
    svg.line(x + from * dx, y + from * dy, x + to * dx, y + to * dy,
             fmt::format("class=\"{}\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"",
                         pen.classes, pen.colour, coordinate(pen.width), pen.dashes));
  }
}

}  // namespace stap
