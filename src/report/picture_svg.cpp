// A picture between axes, as a drawing.
#include <algorithm>

#include <fmt/format.h>

#include "report/frame.h"
#include "stap/report/picture.h"

namespace stap {
namespace {

constexpr std::size_t kPixelsLeast = 300;

// Labels of what lies between dividers, in the middle of each, where there is room.
Ticks divider_ticks(const PictureChart& chart, const Frame& frame, double font) {
  Ticks ticks;
  double free_from = frame.top;
  for (std::size_t i = 0; i < chart.dividers.size(); ++i) {
    const double end = i + 1 < chart.dividers.size() ? chart.dividers[i + 1].at : chart.y_low;
    const double middle = (chart.dividers[i].at + end) / 2;
    if (frame.at_y(middle) - 0.6 * font < free_from) continue;
    ticks.major.push_back(middle);
    ticks.labels.push_back(chart.dividers[i].label);
    free_from = frame.at_y(middle) + 0.6 * font;
  }
  return ticks;
}

std::string hex(const Colour& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", c[0], c[1], c[2]);
}

// A raster as one shape: sharp at any size, and a style sheet can give it another colour.
void draw_bought_steps(Svg& svg, const Frame& frame, const Picture& picture) {
  std::string path;
  const auto part = [](double length, std::size_t n) {
    return length / static_cast<double>(std::max<std::size_t>(n, 1));
  };
  const double wide = part(frame.right - frame.left, picture.width);
  const double high = part(frame.bottom - frame.top, picture.height);
  for (std::size_t y = 0; y < picture.height; ++y)
    for (std::size_t x = 0, end = 0; x < picture.width; x = end + 1) {
      const std::uint8_t* row = picture.values.data() + y * picture.width;
      for (end = x; end < picture.width && row[end] > 0;) ++end;
      if (end == x) continue;
      const std::string length = coordinate(wide * static_cast<double>(end - x));
      path += fmt::format(
          "M{} {}h{}v{}h-{}Z", coordinate(frame.left + wide * static_cast<double>(x)),
          coordinate(frame.top + high * static_cast<double>(y)), length, coordinate(high), length);
    }
  svg.add(fmt::format("<path d=\"{}\" class=\"bought\" fill=\"{}\"/>\n", path,
                      hex(palette_colours(picture.palette)[kTopLevel])));
}

// What the two colours of a raster mean.
void draw_key(Svg& svg, double left, double y) {
  const double font = svg.font();
  const auto& colours = palette_colours(Palette::bought);
  double x = left;
  for (const auto& [level, label] :
       {std::pair{kTopLevel, "bought from the solver"}, std::pair{std::uint8_t{0}, "not bought"}}) {
    svg.rectangle(
        x, y - 0.45 * font, 0.9 * font, 0.9 * font,
        fmt::format("class=\"{}\" fill=\"{}\" stroke=\"#333333\" stroke-width=\"0.5\"",
                    level > 0 ? "bought" : "filled", level > 0 ? hex(colours[level]) : "none"));
    svg.text(x + 1.3 * font, y, Anchor::start, label);
    x += 1.3 * font + text_width(label, font) + 1.2 * font;
  }
}

}  // namespace

std::string svg_text(const PictureChart& chart, const FigureStyle& style) {
  const double font = style.font_pt;
  const double width = style.width_mm * kPointsPerMm, height = style.height_mm * kPointsPerMm;
  const bool key = chart.picture.palette == Palette::bought;
  const Span x{chart.x_low, chart.x_high, false};
  const Span y{std::min(chart.y_low, chart.y_high), std::max(chart.y_low, chart.y_high), false};
  Frame frame = make_frame(width, height, font, chart.x, chart.y, x.low < x.high ? x : Span{},
                           y.low < y.high ? y : Span{}, true, {0, key ? 1.5 * font : 0});
  if (!chart.dividers.empty()) {
    frame.y.low = chart.y_low;  // downwards
    frame.y.high = chart.y_high;
    frame.y_ticks = divider_ticks(chart, frame, font);
  }
  Svg svg(width, height, style, chart.title, chart.note);
  if (key)
    draw_bought_steps(svg, frame, chart.picture);
  else if (!chart.picture.values.empty())
    svg.image(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top,
              data_uri(enlarged(chart.picture, kPixelsLeast)));
  for (const PictureChart::Divider& divider : chart.dividers)
    if (divider.at != chart.y_high)
      svg.line(frame.left, frame.at_y(divider.at), frame.right, frame.at_y(divider.at),
               "class=\"divider\" stroke=\"#D55E00\" stroke-width=\"0.7\"");
  draw_axes(svg, frame, chart.x, chart.y);
  if (key) draw_key(svg, frame.left, height - 0.75 * font);
  return std::move(svg).finish();
}

}  // namespace stap
