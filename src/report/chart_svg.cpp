// A chart as a drawing.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/draw_series.h"

namespace stap {
namespace {

constexpr double kWideChart = 110 * kPointsPerMm;

bool is_drawn(const Series& series, const FigureStyle& style) {
  return !series.seed || style.seeds;
}

// One chart on its way.
class ChartDrawing {
 public:
  ChartDrawing(const Chart& chart, const FigureStyle& style) : chart_(chart), style_(style) {
    for (const Series& series : chart.series)
      if (is_drawn(series, style)) drawn_.push_back(&series);
  }

  std::string draw();

 private:
  Span x_span() const;
  Span y_span() const;
  bool whole_numbers() const;
  bool shown(const Series& series, std::size_t i) const {
    return is_shown(series, i, chart_.x.log, chart_.y.log);
  }
  std::size_t left_out() const;
  std::size_t open_ends() const;
  std::string left_out_text() const;
  void draw_data(Svg& svg) const;

  const Chart& chart_;
  const FigureStyle& style_;
  std::vector<const Series*> drawn_;
  Frame frame_;
};

Span ChartDrawing::x_span() const {
  if (!chart_.x.names.empty())
    return {-0.5, static_cast<double>(chart_.x.names.size()) - 0.5, false};
  std::vector<double> values{chart_.x.low, chart_.x.high};
  for (const Series* series : drawn_) {
    if (series->guide) continue;
    const double half = series->mark == Series::Mark::bars ? 0.5 : 0;
    for (std::size_t i = 0; i < length_of(*series); ++i)
      if (shown(*series, i)) {
        values.push_back(series->x[i] - half);
        values.push_back(series->x[i] + half);
      }
  }
  return span_of(values, chart_.x.log, 0.03, false);
}

// All values with their bands: one that was cut would look surer than it is.
Span ChartDrawing::y_span() const {
  std::vector<double> values{chart_.y.low, chart_.y.high};
  for (const Series* series : drawn_) {
    if (series->guide) continue;
    const bool band = has_band(*series);
    for (std::size_t i = 0; i < length_of(*series); ++i) {
      if (!shown(*series, i)) continue;
      values.push_back(series->y[i]);
      if (band) values.insert(values.end(), {series->low[i], series->high[i]});
    }
    if (series->mark == Series::Mark::bars && !chart_.y.log) values.push_back(0);
  }
  return span_of(values, chart_.y.log, 0.05, true);
}

bool ChartDrawing::whole_numbers() const {
  if (chart_.x.whole) return true;
  for (const Series* series : drawn_)
    for (const double v : series->x)
      if (std::isfinite(v) && v != std::floor(v)) return false;
  return true;
}

// What was meant to be seen but cannot be; NaN is a gap on purpose.
std::size_t ChartDrawing::left_out() const {
  std::size_t count = 0;
  for (const Series* series : drawn_)
    for (std::size_t i = 0; i < length_of(*series); ++i)
      if (!std::isnan(series->x[i]) && !std::isnan(series->y[i]) && !shown(*series, i) &&
          !series->guide)
        ++count;
  return count;
}

// Ends of bands that no axis can hold.
std::size_t ChartDrawing::open_ends() const {
  std::size_t count = 0;
  for (const Series* series : drawn_)
    for (std::size_t i = 0; has_band(*series) && i < length_of(*series); ++i)
      for (const double end : {series->low[i], series->high[i]})
        if (shown(*series, i) && is_open(end, chart_.y.log)) ++count;
  return count;
}

std::string ChartDrawing::left_out_text() const {
  const bool log = chart_.x.log || chart_.y.log;
  std::string text;
  if (const std::size_t n = left_out(); n > 0)
    text = fmt::format("{} {} not shown: infinite{}", n, n == 1 ? "value is" : "values are",
                       log ? ", or not above 0 (logarithmic axis)" : "");
  if (const std::size_t n = open_ends(); n > 0)
    text += fmt::format("{}{} of intervals {} beyond the axis (arrows)", text.empty() ? "" : "; ",
                        n == 1 ? "1 end" : fmt::format("{} ends", n), n == 1 ? "is" : "are");
  return text;
}

void ChartDrawing::draw_data(Svg& svg) const {
  using Mark = Series::Mark;
  const auto bars = [](const Series* series) { return series->mark == Mark::bars; };
  const auto places = static_cast<std::size_t>(std::ranges::count_if(drawn_, bars));
  std::size_t place = 0;
  // The more bands, the fainter each.
  const auto banded = [](const Series* series) {
    return series->mark == Mark::line && has_band(*series);
  };
  const auto bands = static_cast<double>(std::ranges::count_if(drawn_, banded));
  for (const Series* series : drawn_)
    if (banded(series)) draw_band(svg, frame_, *series, std::clamp(0.5 / (bands + 1), 0.05, 0.15));
  for (const Series* series : drawn_) {
    if (series->guide)
      draw_guide(svg, frame_, *series);
    else if (series->mark == Mark::bars)
      draw_bars(svg, frame_, *series, place++, places);
    else if (series->mark == Mark::points)
      draw_points(svg, frame_, *series);
  }
  for (const Series* series : drawn_)
    if (!series->guide && series->mark == Mark::line) draw_line(svg, frame_, *series);
}

std::string ChartDrawing::draw() {
  const double font = style_.font_pt, width = style_.width_mm * kPointsPerMm;
  const std::vector<const Series*> named = named_series(chart_, style_);
  const double end_labels = end_labels_width(named, width, font);
  Legend legend(end_labels > 0 ? std::vector<const Series*>{} : named, width - 2 * font, font);
  // Beside a wide chart rather than in several rows below.
  const bool beside =
      legend.height() > 2 * font && width > kWideChart &&
      1.45 * font * static_cast<double>(named.size()) < 0.8 * style_.height_mm * kPointsPerMm;
  if (beside) legend = Legend(named, std::min(legend.widest(), 0.35 * width), font);
  const std::string missing = left_out_text();
  const double below = (beside ? 0 : legend.height()) + (missing.empty() ? 0 : 1.4 * font);
  // A long legend makes the drawing higher rather than the chart invisible.
  const double least = below_frame(font) + 8 * font;
  const double height = std::max(style_.height_mm * kPointsPerMm, least + below);
  frame_ = make_frame(width, height, font, chart_.x, chart_.y, x_span(), y_span(), whole_numbers(),
                      {beside ? legend.widest() + font : end_labels, below});
  std::string description = chart_.note;
  if (!missing.empty()) description += (description.empty() ? "" : ". ") + missing;
  Svg svg(width, height, style_, chart_.title, description);
  draw_grid(svg, frame_, chart_.x.names.empty());
  draw_data(svg);
  draw_axes(svg, frame_, chart_.x, chart_.y);
  if (drawn_.empty())
    svg.text((frame_.left + frame_.right) / 2, (frame_.top + frame_.bottom) / 2, Anchor::middle,
             shortened(chart_.note.empty() ? "nothing to show" : chart_.note,
                       frame_.right - frame_.left, font));
  if (end_labels > 0) draw_end_labels(svg, frame_, named);
  const double legend_top = frame_.bottom + below_frame(font, frame_.label_rows);
  if (beside)
    legend.draw(svg, frame_.right + font, frame_.top);
  else
    legend.draw(svg, std::min(frame_.left, font), legend_top);
  if (!missing.empty())
    svg.text(std::min(frame_.left, font), legend_top + (beside ? 0 : legend.height()) + 0.7 * font,
             Anchor::start, shortened(missing, width - 2 * font, font), "font-style=\"italic\"");
  return std::move(svg).finish();
}

}  // namespace

std::string svg_text(const Chart& chart, const FigureStyle& style) {
  return ChartDrawing(chart, style).draw();
}

}  // namespace stap
