// Truth, prediction and error of a trajectory side by side.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/field_parts.h"
#include "report/frame.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr std::size_t kPanelPixels = 300;

struct Panel {
  const char* title;
  const Picture* picture;
};

}  // namespace

Picture tile(const Picture& all, const Field& field, std::size_t index) {
  if (field.dimensions == 1) return all;
  Picture one{.width = field.width,
              .height = field.height,
              .low = all.low,
              .high = all.high,
              .palette = all.palette};
  const std::size_t left = index % field.columns * field.width;
  const std::size_t top = index / field.columns * field.height;
  for (std::size_t y = 0; y < field.height; ++y) {
    const auto row = all.values.begin() + static_cast<std::ptrdiff_t>((top + y) * all.width + left);
    one.values.insert(one.values.end(), row, row + static_cast<std::ptrdiff_t>(field.width));
  }
  return one;
}

namespace {

std::size_t nearest(const std::vector<double>& times, double time) {
  if (times.empty() || std::isnan(time)) return times.empty() ? 0 : times.size() - 1;
  return static_cast<std::size_t>(
      std::ranges::min_element(times, {}, [&](double t) { return std::abs(t - time); }) -
      times.begin());
}

}  // namespace

void draw_colour_bar(Svg& svg, double left, double right, double y, const Picture& of,
                     double height) {
  Picture bar{.width = std::size_t{kTopLevel} + 1, .height = 1, .palette = of.palette};
  for (std::size_t i = 0; i <= kTopLevel; ++i) bar.values.push_back(static_cast<std::uint8_t>(i));
  svg.image(left, y, right - left, height, data_uri(bar));
  svg.rectangle(left, y, right - left, height,
                "class=\"axis\" fill=\"none\" stroke=\"#333333\" stroke-width=\"0.5\"");
  const double font = svg.font(), below = y + height + 0.75 * font;
  const std::string low = number_text(of.low), high = number_text(of.high);
  svg.text(left, below, Anchor::start, low);
  svg.text(right, below, Anchor::end, high);
  const bool room = right - left > text_width(low, font) + text_width(high, font) + 3 * font;
  if (of.palette == Palette::diverging && room)
    svg.text((left + right) / 2, below, Anchor::middle, "0");
}

namespace {

// How many of the bought trajectories had each step, over the picture, and so far from it that the
// word beside it does not meet the uppermost label of the axis.
constexpr double kStripHeight = 0.6, kStripGap = 0.8;  // in font sizes
void draw_bought(Svg& svg, const Frame& frame, const std::vector<double>& bought) {
  const double height = kStripHeight * svg.font(), bottom = frame.top - kStripGap * svg.font();
  const double last = static_cast<double>(bought.size());
  Picture strip{.width = bought.size(), .height = 1, .palette = Palette::bought};
  for (const double share : bought)
    strip.values.push_back(
        static_cast<std::uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * kTopLevel)));
  // Step i leads to state i + 1: it lies between the two.
  const double wide = (frame.right - frame.left) / (last + 1);
  svg.text(frame.left - 0.6 * svg.font(), bottom - height / 2, Anchor::end, "bought");
  svg.image(frame.left + wide / 2, bottom - height, wide * last, height,
            data_uri(enlarged(strip, kPanelPixels)));
  svg.rectangle(frame.left + wide / 2, bottom - height, wide * last, height,
                "class=\"axis\" fill=\"none\" stroke=\"#333333\" stroke-width=\"0.3\"");
}

// A time or point stands for the pixels around it.
Span pixel_span(double first, double last, std::size_t n) {
  const double half = n > 1 ? (last - first) / static_cast<double>(n - 1) / 2 : 0.5;
  return {first - half, last + half, false};
}

}  // namespace

std::string svg_text(const Field& field, std::size_t channel, double time,
                     const FigureStyle& style) {
  if (channel >= field.channels.size())
    throw Error(ErrorKind::internal,
                fmt::format("channel {} of {}", channel, field.channels.size()));
  const FieldChannel& of = field.channels[channel];
  const double font = style.font_pt;
  const double width = style.width_mm * kPointsPerMm, height = style.height_mm * kPointsPerMm;
  const std::size_t frame_index = nearest(field.times, time);
  const bool flat = field.dimensions == 1;
  const Axis x_axis{.label = flat ? "time" : "x"}, y_axis{.label = flat ? "x" : "y"};
  const double length_x = field.lengths.empty() ? 1 : field.lengths.front();
  const double length_y = field.lengths.size() > 1 ? field.lengths[1] : length_x;
  const Span x = flat ? pixel_span(field.times.front(), field.times.back(), field.times.size())
                      : Span{0, length_x, false};
  const Span y{0, length_y, false};

  // The first panel's frame tells the room for labels; the others are as wide.
  const double titles = 1.5 * font, bar = 0.7 * font, bars = bar + 1.9 * font, gap = 2.2 * font;
  const bool strip = flat && field.bought.size() > 1;
  Frame frame = make_frame(width, height, font, x_axis, y_axis, x, y, false, {0, bars});
  const double left = std::max(frame.left, strip ? text_width("bought", font) + font : 0.0);
  double panel = (width - left - 2 * gap - 1.2 * font) / 3;
  double top = frame.top + titles + (strip ? (kStripHeight + kStripGap + 0.1) * font : 0);
  double high = frame.bottom - top;
  if (!flat) {  // squares stay squares
    const double aspect = length_y / length_x;
    const double fits = std::min(panel, high / aspect);
    panel = fits;
    high = fits * aspect;
  }
  const std::string what =
      fmt::format("{} trajectory of the test set (number {}), {}{}; RMSE {}", to_string(field.kind),
                  field.trajectory, of.name,
                  flat || field.times.empty()
                      ? ""
                      : fmt::format(" at time {}", number_text(field.times[frame_index])),
                  number_text(field.rmse));
  // Squares may need less than there is.
  const double need = top + high + below_frame(font) + bars + 0.2 * font;
  Svg svg(width, std::min(height, need), style, what,
          "Truth, prediction of the mean model, and prediction minus truth. Grey: not finite");
  const Panel panels[] = {
      {"truth", &of.truth}, {"prediction", &of.prediction}, {"error", &of.error}};
  double bars_top = 0;
  for (std::size_t i = 0; i < std::size(panels); ++i) {
    frame.left = left + static_cast<double>(i) * (panel + gap);
    frame.right = frame.left + panel;
    frame.top = top;
    frame.bottom = top + high;
    frame.x_ticks =
        ticks_of(x, std::clamp<std::size_t>(static_cast<std::size_t>(panel / (4.5 * font)), 2, 6));
    frame.y_ticks =
        ticks_of(y, std::clamp<std::size_t>(static_cast<std::size_t>(high / (2.6 * font)), 2, 6));
    svg.text((frame.left + frame.right) / 2, 0.8 * font, Anchor::middle,
             i == 0 ? fmt::format("{} of {}", panels[i].title, of.name) : panels[i].title);
    svg.image(frame.left, frame.top, panel, high,
              data_uri(enlarged(tile(*panels[i].picture, field, frame_index), kPanelPixels)));
    if (strip && i == 0) draw_bought(svg, frame, field.bought);
    if (i > 0)
      for (std::string& label : frame.y_ticks.labels) label.clear();
    draw_axes(svg, frame, x_axis, i == 0 ? y_axis : Axis{});
    bars_top = frame.bottom + below_frame(font) + 0.2 * font;
  }
  draw_colour_bar(svg, left, left + 2 * panel + gap, bars_top, of.truth, bar);
  draw_colour_bar(svg, left + 2 * (panel + gap), left + 3 * panel + 2 * gap, bars_top, of.error,
                  bar);
  return std::move(svg).finish();
}

}  // namespace stap
