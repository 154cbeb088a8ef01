#include "report/frame.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

namespace stap {
namespace {

constexpr double kTickLength = 2.5;
constexpr const char* kAxisStroke = "class=\"axis\" stroke=\"#333333\" stroke-width=\"0.6\"";

double widest(const Ticks& ticks, double font) {
  double width = 0;
  for (const std::string& label : ticks.labels) width = std::max(width, text_width(label, font));
  return width;
}

bool labels_fit(const Frame& frame, double font) {
  const Ticks& ticks = frame.x_ticks;
  for (std::size_t i = 1; i < ticks.major.size(); ++i) {
    const double apart = frame.at_x(ticks.major[i]) - frame.at_x(ticks.major[i - 1]);
    const double need =
        (text_width(ticks.labels[i], font) + text_width(ticks.labels[i - 1], font)) / 2;
    if (apart < need + 0.6 * font) return false;
  }
  return true;
}

// A name in two rows, parted where the longer of them is shortest: behind a hyphen or at a space.
std::vector<std::string> two_rows(const std::string& name, double font) {
  std::vector<std::string> best{name};
  double least = text_width(name, font);
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] != ' ' && name[i] != '-') continue;
    const std::string first = name.substr(0, name[i] == ' ' ? i : i + 1),
                      second = name.substr(i + 1);
    const double wide = std::max(text_width(first, font), text_width(second, font));
    if (wide >= least) continue;
    best = {first, second};
    least = wide;
  }
  return best;
}

}  // namespace

double below_frame(double font, std::size_t label_rows) {
  return kTickLength + (1.9 + 1.1 * static_cast<double>(label_rows)) * font;
}

Ticks named_ticks(const std::vector<std::string>& names) {
  Ticks ticks;
  for (std::size_t i = 0; i < names.size(); ++i) ticks.major.push_back(static_cast<double>(i));
  ticks.labels = names;
  return ticks;
}

Frame make_frame(double width, double height, double font, const Axis& x_axis, const Axis& y_axis,
                 const Span& x, const Span& y, bool x_whole, const Surroundings& room) {
  Frame frame{.x = x, .y = y, .label_rows = room.label_rows};
  frame.top = 0.8 * font;
  frame.bottom =
      std::max(height - below_frame(font, room.label_rows) - room.below, frame.top + 2 * font);
  const auto rows = static_cast<std::size_t>((frame.bottom - frame.top) / (2.6 * font));
  frame.y_ticks = y_axis.names.empty() ? ticks_of(y, std::clamp<std::size_t>(rows, 2, 8))
                                       : named_ticks(y_axis.names);
  frame.left = widest(frame.y_ticks, font) + kTickLength + 0.5 * font + 1.7 * font;
  frame.left = std::min(frame.left, 0.4 * width);
  frame.right = std::max(width - room.right - 0.9 * font, frame.left + 2 * font);
  if (!x_axis.names.empty()) {
    frame.x_ticks = named_ticks(x_axis.names);
    const double most =
        (frame.right - frame.left) / static_cast<double>(x_axis.names.size()) - 0.4 * font;
    const auto parted = [&](const std::string& label) {
      return text_width(label, font) > most && two_rows(label, font).size() > 1;
    };
    if (room.label_rows == 1 && std::ranges::any_of(frame.x_ticks.labels, parted))
      return make_frame(width, height, font, x_axis, y_axis, x, y, x_whole,
                        {room.right, room.below, 2});
    for (std::string& label : frame.x_ticks.labels) {
      std::string text;
      for (const std::string& row :
           parted(label) ? two_rows(label, font) : std::vector<std::string>{label})
        text += (text.empty() ? "" : "\n") + shortened(row, most, font);
      label = text;
    }
    return frame;
  }
  for (std::size_t most = 8; most >= 2; --most) {
    frame.x_ticks = ticks_of(x, most, x_whole);
    if (labels_fit(frame, font)) return frame;
  }
  // Not even two: the ends' labels would lie on each other.
  frame.x_ticks.major.resize(std::min<std::size_t>(frame.x_ticks.major.size(), 1));
  frame.x_ticks.labels.resize(frame.x_ticks.major.size());
  return frame;
}

void draw_grid(Svg& svg, const Frame& frame, bool x_lines) {
  constexpr const char* kStroke = "class=\"grid\" stroke=\"#e4e4e4\" stroke-width=\"0.5\"";
  for (const double v : frame.y_ticks.major)
    svg.line(frame.left, frame.at_y(v), frame.right, frame.at_y(v), kStroke);
  if (!x_lines) return;
  for (const double v : frame.x_ticks.major)
    svg.line(frame.at_x(v), frame.top, frame.at_x(v), frame.bottom, kStroke);
}

void draw_axes(Svg& svg, const Frame& frame, const Axis& x_axis, const Axis& y_axis) {
  const double font = svg.font();
  svg.line(frame.left, frame.bottom, frame.right, frame.bottom, kAxisStroke);
  svg.line(frame.left, frame.top, frame.left, frame.bottom, kAxisStroke);
  for (std::size_t i = 0; i < frame.x_ticks.major.size(); ++i) {
    const double x = frame.at_x(frame.x_ticks.major[i]);
    if (x_axis.names.empty()) svg.line(x, frame.bottom, x, frame.bottom + kTickLength, kAxisStroke);
    std::istringstream rows(frame.x_ticks.labels[i]);
    double y = frame.bottom + kTickLength + 0.8 * font;
    for (std::string row; std::getline(rows, row); y += 1.1 * font)
      svg.text(x, y, Anchor::middle, row);
  }
  for (const double v : frame.x_ticks.minor)
    svg.line(frame.at_x(v), frame.bottom, frame.at_x(v), frame.bottom + 0.55 * kTickLength,
             kAxisStroke);
  for (std::size_t i = 0; i < frame.y_ticks.major.size(); ++i) {
    const double y = frame.at_y(frame.y_ticks.major[i]);
    svg.line(frame.left - kTickLength, y, frame.left, y, kAxisStroke);
    svg.text(frame.left - kTickLength - 0.35 * font, y, Anchor::end, frame.y_ticks.labels[i]);
  }
  for (const double v : frame.y_ticks.minor)
    svg.line(frame.left - 0.55 * kTickLength, frame.at_y(v), frame.left, frame.at_y(v),
             kAxisStroke);
  svg.text((frame.left + frame.right) / 2,
           frame.bottom + below_frame(font, frame.label_rows) - 0.9 * font, Anchor::middle,
           shortened(axis_text(x_axis, frame.x_ticks.exponent), frame.right - frame.left + 2 * font,
                     font));
  svg.upright_text(
      0.65 * font, (frame.top + frame.bottom) / 2,
      shortened(axis_text(y_axis, frame.y_ticks.exponent), frame.bottom - frame.top + font, font));
}

}  // namespace stap
