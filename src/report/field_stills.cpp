// Frames of a 2-D trajectory side by side, for paper and where there are no scripts.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/field_parts.h"
#include "report/ticks.h"

namespace stap {
namespace {

constexpr std::size_t kStills = 5;
constexpr double kWidestFrame = 40 * kPointsPerMm;

}  // namespace

std::vector<std::size_t> still_frames(const Field& field) {
  std::vector<std::size_t> frames;
  const std::size_t times = field.times.size(), count = std::min(times, kStills);
  for (std::size_t i = 0; i < count; ++i)
    frames.push_back(count == 1 ? 0 : (i * (times - 1) + (count - 1) / 2) / (count - 1));
  return frames;
}

std::size_t still_gap(const Field& field) {
  return std::max<std::size_t>(1, (field.width + 8) / 16);
}

Picture still_strip(const Picture& all, const Field& field) {
  std::vector<Picture> tiles;
  for (const std::size_t frame : still_frames(field)) tiles.push_back(tile(all, field, frame));
  Picture strip{
      .width = 0, .height = field.height, .low = all.low, .high = all.high, .palette = all.palette};
  for (std::size_t y = 0; y < field.height; ++y)
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const auto row = tiles[i].values.begin() + static_cast<std::ptrdiff_t>(y * field.width);
      strip.values.insert(strip.values.end(), row, row + static_cast<std::ptrdiff_t>(field.width));
      // What lies between is covered; viewers that smooth pictures mix it into the frame.
      if (i + 1 < tiles.size())
        strip.values.insert(strip.values.end(), still_gap(field), strip.values.back());
    }
  strip.width = strip.values.size() / std::max<std::size_t>(field.height, 1);
  return strip;
}

std::string stills_svg(const Field& field, std::size_t channel, const FigureStyle& style) {
  const FieldChannel& of = field.channels.at(channel);
  const std::vector<std::size_t> frames = still_frames(field);
  const double font = style.font_pt, width = style.width_mm * kPointsPerMm;
  const double left = text_width("prediction", font) + font;
  const double gap_share = static_cast<double>(still_gap(field)) / static_cast<double>(field.width);
  const double n = static_cast<double>(frames.size());
  const double frame = std::min((width - left - 1) / (n + (n - 1) * gap_share), kWidestFrame);
  const double gap = frame * gap_share, right = left + n * frame + (n - 1) * gap;
  const double lengths = field.lengths.size() > 1 ? field.lengths[1] / field.lengths[0] : 1;
  const double high = frame * lengths, row = high + 1.7 * font, bar = 0.7 * font;
  const double bars_top = 3 * row + 0.6 * font, middle = left + (right - left) / 2;

  const std::string what =
      fmt::format("{} trajectory of the test set (number {}), {} at {} times",
                  to_string(field.kind), field.trajectory, of.name, frames.size());
  Svg svg(width, bars_top + bar + 1.6 * font, style, what,
          "Truth, prediction of the mean model, and prediction minus truth, x to the right and y "
          "up. Grey: not finite");
  const std::pair<const char*, const Picture*> rows[] = {
      {"truth", &of.truth}, {"prediction", &of.prediction}, {"error", &of.error}};
  for (std::size_t r = 0; r < std::size(rows); ++r) {
    const double top = static_cast<double>(r) * row;
    svg.text(left - 0.6 * font, top + high / 2, Anchor::end, rows[r].first);
    svg.image(left, top, right - left, high, data_uri(still_strip(*rows[r].second, field)));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const double from = left + static_cast<double>(i) * (frame + gap);
      if (i > 0)
        svg.rectangle(from - gap, top - 0.5, gap, high + 1, "class=\"gap\" fill=\"#ffffff\"");
      svg.rectangle(from, top, frame, high,
                    "class=\"axis\" fill=\"none\" stroke=\"#333333\" stroke-width=\"0.4\"");
      svg.text(from + frame / 2, top + high + 0.75 * font, Anchor::middle,
               fmt::format("t = {}", number_text(field.times[frames[i]])));
    }
  }
  draw_colour_bar(svg, left, middle - font, bars_top, of.truth, bar);
  draw_colour_bar(svg, middle + font, right, bars_top, of.error, bar);
  svg.text(left - 0.6 * font, bars_top + bar / 2, Anchor::end, "scales");
  return std::move(svg).finish();
}

}  // namespace stap
