// Truth, predictions and errors of a trajectory side by side.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/frame.h"
#include "stap/core/error.h"
#include "stap/report/field.h"

namespace stap {
namespace {

constexpr std::size_t kPanelPixels = 300;
constexpr double kStripHeight = 0.9, kStripGap = 0.25;  // in font sizes

std::size_t nearest(const std::vector<double>& times, double time) {
  if (times.empty() || std::isnan(time)) return times.empty() ? 0 : times.size() - 1;
  return static_cast<std::size_t>(
      std::ranges::min_element(times, {}, [&](double t) { return std::abs(t - time); }) -
      times.begin());
}

// The tile of a time, as a picture of its own; 1-D: all of it.
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

// All levels from left to right, and what its ends stand for.
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

// Of how many of the chosen trajectories each step was bought, as high as that, over a picture.
// Step i leads to state i + 1: it lies between the two.
void draw_bought(Svg& svg, const Frame& frame, const FieldModel& model, bool labelled) {
  const double bottom = frame.top - kStripGap * svg.font(), high = kStripHeight * svg.font();
  const double wide = (frame.right - frame.left) / static_cast<double>(model.bought.size() + 1);
  std::string path = fmt::format("M{} {}", coordinate(frame.left + wide / 2), coordinate(bottom));
  for (std::size_t i = 0; i < model.bought.size(); ++i)
    path += fmt::format("V{}H{}", coordinate(bottom - high * std::clamp(model.bought[i], 0.0, 1.0)),
                        coordinate(frame.left + wide * (static_cast<double>(i) + 1.5)));
  svg.add(
      fmt::format("<path d=\"{}V{}Z\" class=\"bar g{}\" fill=\"{}\"><title>share of the chosen "
                  "trajectories of which each step was bought</title></path>\n",
                  path, coordinate(bottom), model.group, group_colour(model.group)));
  if (labelled)
    svg.text(frame.left - 0.4 * svg.font(), bottom - 0.15 * svg.font(), Anchor::end, "bought");
}

// A time or point stands for the pixels around it.
Span pixel_span(double first, double last, std::size_t n) {
  const double half = n > 1 ? (last - first) / static_cast<double>(n - 1) / 2 : 0.5;
  return {first - half, last + half, false};
}

// One picture between axes, and where it stands among the others.
struct Panel {
  const char* what;
  std::size_t model, column, row;
  std::string title;
  const Picture* picture;
};

std::vector<Panel> panels_of(const Field& field, const FieldChannel& of) {
  std::vector<Panel> panels{{"truth", 0, 0, 0, "truth of " + of.name, &of.truth}};
  if (field.models.size() == 1) {
    panels.push_back({"prediction", 0, 1, 0, "prediction", &of.predictions[0]});
    panels.push_back({"error", 0, 2, 0, "error", &of.errors[0]});
    return panels;
  }
  for (std::size_t m = 0; m < field.models.size(); ++m) {
    panels.push_back({"prediction", m, m + 1, 0, field.models[m].label, &of.predictions[m]});
    panels.push_back(
        {"error", m, m + 1, 1,
         "error: " + (std::isfinite(field.models[m].rmse) ? number_text(field.models[m].rmse)
                                                          : std::string("not finite")),
         &of.errors[m]});
  }
  return panels;
}

class FieldDrawing {
 public:
  FieldDrawing(const Field& field, const FieldChannel& of, std::size_t at, const FigureStyle& style)
      : field_(field), of_(of), style_(style), at_(at), panels_(panels_of(field, of)) {}

  std::string draw() {
    place();
    Svg svg(width_, height_, style_, title(),
            "Truth, predictions of the averaged model, and prediction minus truth. Grey: not "
            "finite");
    for (const Panel& panel : panels_) draw_panel(svg, panel);
    const double bar = 0.7 * font_, below = top_ + high_ + below_frame(font_) + 0.2 * font_;
    if (alone_) {
      draw_colour_bar(svg, left_, left_ + 2 * wide_ + gap_, below, of_.truth, bar);
      draw_colour_bar(svg, left_ + 2 * (wide_ + gap_), left_ + 3 * wide_ + 2 * gap_, below,
                      of_.errors[0], bar);
    } else {  // where no error stands below the truth
      const double middle = top_ + pitch_ + high_;
      svg.text(left_, middle - 5.6 * font_, Anchor::start, "states");
      draw_colour_bar(svg, left_, left_ + wide_, middle - 4.8 * font_, of_.truth, bar);
      svg.text(left_, middle - 2.2 * font_, Anchor::start, "errors");
      draw_colour_bar(svg, left_, left_ + wide_, middle - 1.4 * font_, of_.errors[0], bar);
    }
    if (!flat_ && !field_.times.empty())
      svg.text(0, 0.8 * font_, Anchor::start, "t = " + number_text(field_.times[at_]),
               "data-when=\"\"");
    return std::move(svg).finish();
  }

 private:
  std::string title() const {
    std::string rmse;
    for (const FieldModel& model : field_.models)
      rmse += fmt::format("{}{}{}", rmse.empty() ? "" : ", ", alone_ ? "" : model.label + " ",
                          number_text(model.rmse));
    return fmt::format("{} trajectory of the test set (number {}), {}{}; RMSE {}",
                       to_string(field_.kind), field_.trajectory, of_.name,
                       flat_ || field_.times.empty()
                           ? ""
                           : fmt::format(" at time {}", number_text(field_.times[at_])),
                       rmse);
  }

  void place() {
    const double length_x = field_.lengths.empty() ? 1 : field_.lengths.front();
    const double length_y = field_.lengths.size() > 1 ? field_.lengths[1] : length_x;
    x_ = flat_ ? pixel_span(field_.times.front(), field_.times.back(), field_.times.size())
               : Span{0, length_x, false};
    y_ = Span{0, length_y, false};
    const std::size_t columns = alone_ ? 3 : field_.models.size() + 1, rows = alone_ ? 1 : 2;
    const double bars = alone_ ? 2.6 * font_ : 0;
    const bool strip = flat_ && std::ranges::any_of(field_.models, [](const FieldModel& model) {
                         return model.bought.size() > 1;
                       });
    top_ = (1.6 + (strip ? kStripHeight + 2 * kStripGap : 0) + (flat_ ? 0 : 0.8)) * font_;
    const double between = 2.1 * font_, bottom = below_frame(font_) + bars + 0.2 * font_;
    const double whole = style_.height_mm * kPointsPerMm;
    high_ = (whole - top_ - bottom - (alone_ ? 0 : between)) / static_cast<double>(rows);
    left_ =
        make_frame(width_, top_ + high_ + bottom, font_, x_axis_, y_axis_, x_, y_, false, {}).left;
    wide_ = (width_ - left_ - static_cast<double>(columns - 1) * gap_ - 1.2 * font_) /
            static_cast<double>(columns);
    if (!flat_) {  // squares stay squares
      const double aspect = length_y / length_x;
      wide_ = std::min(wide_, high_ / aspect);
      high_ = wide_ * aspect;
    }
    pitch_ = high_ + between;
    height_ = top_ + static_cast<double>(rows - 1) * pitch_ + high_ + bottom;
  }

  void draw_panel(Svg& svg, const Panel& panel) const {
    Frame frame{.x = x_, .y = y_};
    frame.left = left_ + static_cast<double>(panel.column) * (wide_ + gap_);
    frame.right = frame.left + wide_;
    frame.top = top_ + static_cast<double>(panel.row) * pitch_;
    frame.bottom = frame.top + high_;
    const auto ticks = [&](const Span& span, double room) {
      return ticks_of(span, std::clamp<std::size_t>(static_cast<std::size_t>(room), 2, 6));
    };
    frame.x_ticks = ticks(x_, wide_ / (4.5 * font_));
    frame.y_ticks = ticks(y_, high_ / (2.6 * font_));
    const double head = panel.row == 0 ? 0.8 * font_ : frame.top - 0.8 * font_;
    svg.text((frame.left + frame.right) / 2, head, Anchor::middle,
             shortened(panel.title, wide_ + gap_, font_));
    svg.add(fmt::format("<g class=\"panel\" data-what=\"{}\" data-model=\"{}\">\n", panel.what,
                        panel.model));
    draw_picture(svg, frame, *panel.picture);
    svg.add("</g>\n");
    const FieldModel& model = field_.models[panel.model];
    if (flat_ && panel.row == 0 && panel.column == panel.model + 1 && model.bought.size() > 1)
      draw_bought(svg, frame, model, panel.model == 0);
    // The left column and the lowest row say what the axes are.
    const bool first = panel.column == 0, lowest = alone_ || panel.row == 1 || first;
    for (std::string& label : frame.y_ticks.labels)
      if (!first) label.clear();
    for (std::string& label : frame.x_ticks.labels)
      if (!lowest) label.clear();
    draw_axes(svg, frame, lowest ? x_axis_ : Axis{}, first ? y_axis_ : Axis{});
  }

  // On a page the frames of all times, of which one is seen through a window: scripts move it.
  void draw_picture(Svg& svg, const Frame& frame, const Picture& all) const {
    if (flat_ || !style_.page) {
      svg.image(frame.left, frame.top, wide_, high_,
                data_uri(style_.page ? all : enlarged(tile(all, field_, at_), kPanelPixels)));
      return;
    }
    svg.add(
        fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"{} {} {} {}\" "
                    "preserveAspectRatio=\"none\">",
                    coordinate(frame.left), coordinate(frame.top), coordinate(wide_),
                    coordinate(high_), at_ % field_.columns * field_.width,
                    at_ / field_.columns * field_.height, field_.width, field_.height));
    svg.image(0, 0, static_cast<double>(all.width), static_cast<double>(all.height), data_uri(all));
    svg.add("</svg>\n");
  }

  const Field& field_;
  const FieldChannel& of_;
  const FigureStyle& style_;
  std::size_t at_;
  std::vector<Panel> panels_;
  bool alone_ = field_.models.size() == 1, flat_ = field_.dimensions == 1;
  Axis x_axis_{.label = flat_ ? "time" : "x"}, y_axis_{.label = flat_ ? "x" : "y"};
  double font_ = style_.font_pt, width_ = style_.width_mm * kPointsPerMm,
         gap_ = (flat_ ? 1.4 : 2.2) * font_;
  Span x_{}, y_{};
  double left_ = 0, top_ = 0, wide_ = 0, high_ = 0, pitch_ = 0, height_ = 0;
};

}  // namespace

std::string svg_text(const Field& field, std::size_t channel, double time,
                     const FigureStyle& style) {
  if (channel >= field.channels.size())
    throw Error(ErrorKind::internal,
                fmt::format("channel {} of {}", channel, field.channels.size()));
  return FieldDrawing(field, field.channels[channel], nearest(field.times, time), style).draw();
}

}  // namespace stap
