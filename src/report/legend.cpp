#include "report/legend.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "report/shortened.h"

namespace stap {
namespace {

constexpr std::size_t kShapes = 8;

// Corners of a shape around 0, of about the area of a circle with radius 1.
std::vector<std::pair<double, double>> corners(std::size_t shape) {
  const auto regular = [](int n, double radius, double first, double inner = 0) {
    std::vector<std::pair<double, double>> points;
    for (int i = 0; i < n; ++i) {
      const double angle = (first + 360.0 * i / n) * std::numbers::pi / 180;
      const double r = inner > 0 && i % 2 == 1 ? inner : radius;
      points.emplace_back(r * std::cos(angle), r * std::sin(angle));
    }
    return points;
  };
  switch (shape) {
    case 1:
      return regular(4, 1.25, 45);  // square
    case 2:
      return regular(3, 1.5, -90);  // triangle
    case 3:
      return regular(4, 1.4, 0);  // diamond
    case 4:
      return regular(3, 1.5, 90);  // triangle, downwards
    case 5:
      return regular(6, 1.15, 0);  // hexagon
    case 6:
      return regular(8, 1.6, -90, 0.55);  // star of four
    default:
      return regular(10, 1.55, -90, 0.7);
  }
}

// Where the last value is drawn.
std::pair<double, double> end_of(const Series& series, const Frame& frame) {
  for (std::size_t i = std::min(series.x.size(), series.y.size()); i-- > 0;)
    if (can_show(series.x[i], frame.x.log) && can_show(series.y[i], frame.y.log))
      return {frame.at_x(series.x[i]),
              std::clamp(frame.at_y(series.y[i]), frame.top, frame.bottom)};
  return {frame.right, frame.bottom};
}

}  // namespace

Pen pen_of(const Series& series) {
  Pen pen;
  pen.colour = series.guide ? "#777777" : group_colour(series.group);
  pen.classes = series.guide ? "line guide" : fmt::format("line g{}", series.group);
  if (series.published) pen.classes += " published";
  if (series.seed) pen.classes += " seed";
  pen.width = series.guide || series.seed ? 0.6 : series.published ? 0.8 : 1.1;
  pen.opacity = series.seed ? 0.45 : series.published ? 0.6 : 1.0;
  const std::string dashes = series.guide       ? "3 2"
                             : series.published ? "1 2"
                             : series.seed      ? ""
                                                : group_dashes(series.group);
  std::istringstream numbers(dashes);
  for (double length = 0; numbers >> length;)
    pen.dashes += (pen.dashes.empty() ? "" : " ") + coordinate(length * pen.width);
  return pen;
}

std::string mark_path(std::size_t group, double x, double y, double radius) {
  const std::size_t shape = (group + group / kShapes) % kShapes;
  if (shape == 0)
    return fmt::format("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", coordinate(x - radius),
                       coordinate(y), fmt::arg("r", coordinate(radius)),
                       fmt::arg("d", coordinate(2 * radius)));
  std::string path;
  for (const auto& [dx, dy] : corners(shape))
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(x + radius * dx),
                        coordinate(y + radius * dy));
  return path + "Z";
}

std::vector<const Series*> named_series(const Chart& chart, const FigureStyle& style) {
  std::vector<const Series*> named;
  for (const Series& series : chart.series) {
    if (series.label.empty() || series.seed) continue;
    const auto same = [&](const Series* other) {
      return other->label == series.label && other->group == series.group &&
             other->guide == series.guide && other->published == series.published;
    };
    const auto found = std::ranges::find_if(named, same);
    if (found == named.end())
      named.push_back(&series);
    else if ((*found)->mark == Series::Mark::points && series.mark == Series::Mark::line)
      *found = &series;
  }
  // Seeds without a mean stand for themselves.
  if (style.seeds && named.empty())
    for (const Series& series : chart.series)
      if (!series.label.empty()) named.push_back(&series);
  return named;
}

std::string bar_attributes(const Series& series, std::string_view name) {
  const std::string colour = group_colour(series.group);
  // Bars have no dashes: where colours begin anew they are pale with an edge.
  const bool again = series.group >= kShapes;
  return fmt::format(
      "class=\"{} g{}\" fill=\"{}\"{}", name, series.group, colour,
      again ? fmt::format(" fill-opacity=\"0.35\" stroke=\"{}\" stroke-width=\"0.7\"", colour)
            : "");
}

bool drawn_as_dots(const Series& series) {
  constexpr std::size_t kShapesMost = 60;
  return series.mark == Series::Mark::points && series.x.size() > kShapesMost;
}

double Legend::sample(const Series& series) const {
  return (series.mark == Series::Mark::line ? 2.6 : 0.9) * font_;
}

Legend::Legend(std::vector<const Series*> series, double width, double font) : font_(font) {
  const double apart = 1.2 * font;
  std::vector<Entry> entries;
  for (const Series* one : series) {
    const double before = sample(*one) + 0.5 * font;
    Entry entry{one, shortened(one->label, width - before, font), 0};
    entry.width = before + text_width(entry.label, font) + apart;
    widest_ = std::max(widest_, entry.width - apart);
    entries.push_back(std::move(entry));
  }
  // What does not fit into one row stands in columns, unless that takes more rows.
  std::size_t rows = 1;
  double used = 0;
  for (const Entry& entry : entries) {
    if (used > 0 && used + entry.width - apart > width) {
      ++rows;
      used = 0;
    }
    used += entry.width;
  }
  const auto columns =
      std::max<std::size_t>(1, static_cast<std::size_t>((width + apart) / (widest_ + apart)));
  const bool aligned = rows > 1 && (entries.size() + columns - 1) / columns <= rows;
  used = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (aligned) entries[i].width = widest_ + apart;
    if (i == 0 || (aligned ? i % columns == 0 : used + entries[i].width - apart > width)) {
      rows_.emplace_back();
      used = 0;
    }
    used += entries[i].width;
    rows_.back().push_back(std::move(entries[i]));
  }
}

void Legend::draw(Svg& svg, double left, double top) const {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const double y = top + (static_cast<double>(row) + 0.5) * row_height();
    double x = left;
    for (const Entry& entry : rows_[row]) {
      const Series& series = *entry.series;
      const Pen pen = pen_of(series);
      const double middle = x + sample(series) / 2;
      const std::string fill =
          fmt::format("class=\"mark g{}\" fill=\"{}\"", series.group, pen.colour);
      if (series.mark == Series::Mark::bars) {
        svg.rectangle(middle - 0.45 * font_, y - 0.45 * font_, 0.9 * font_, 0.9 * font_,
                      bar_attributes(series, "key"));
      } else {
        if (series.mark == Series::Mark::line)
          svg.line(
              x, y, x + sample(series), y,
              fmt::format("class=\"{}\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"",
                          pen.classes, pen.colour, coordinate(pen.width),
                          pen.dashes.empty() ? "none" : pen.dashes));
        if (!series.guide && !series.published)
          svg.add(fmt::format("<path d=\"{}\" {}/>\n",
                              mark_path(drawn_as_dots(series) ? series.group % 2 : series.group,
                                        middle, y, 0.24 * font_),
                              fill));
      }
      svg.cut_text(x + sample(series) + 0.5 * font_, y, Anchor::start, entry.label,
                   shortened(series.label, kWholeName));
      x += entry.width;
    }
  }
}

double end_labels_width(const std::vector<const Series*>& series, double width, double font) {
  constexpr std::size_t kFew = 4;
  double widest = 0;
  for (const Series* one : series) {
    const bool drawn = std::ranges::any_of(one->y, [](double v) { return std::isfinite(v); });
    if (one->mark != Series::Mark::line || one->guide || one->published || !drawn) return 0;
    widest = std::max(widest, text_width(one->label, font));
  }
  return series.size() > kFew || series.size() < 2 || widest > 0.24 * width ? 0
                                                                            : widest + 1.4 * font;
}

void draw_end_labels(Svg& svg, const Frame& frame, const std::vector<const Series*>& series) {
  const double font = svg.font(), apart = 1.15 * font;
  struct Label {
    const Series* series;
    double x, end, y;
  };
  std::vector<Label> labels;
  for (const Series* one : series) {
    const auto [x, y] = end_of(*one, frame);
    labels.push_back({one, x, y, y});
  }
  std::ranges::stable_sort(labels, {}, &Label::end);
  // Downwards, then back up from the bottom where they came too low.
  for (std::size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + apart);
  double lowest = frame.bottom;
  for (std::size_t i = labels.size(); i-- > 0; lowest = labels[i].y - apart)
    labels[i].y = std::min(labels[i].y, lowest);
  for (const Label& label : labels) {
    const Pen pen = pen_of(*label.series);
    svg.line(label.x + 0.5 * font, label.end, frame.right + 1.1 * font, label.y,
             fmt::format("class=\"line g{}\" stroke=\"{}\" stroke-width=\"0.5\"",
                         label.series->group, pen.colour));
    svg.text(frame.right + 1.4 * font, label.y, Anchor::start, label.series->label,
             fmt::format("data-group=\"{}\"", label.series->group));
  }
}

}  // namespace stap
