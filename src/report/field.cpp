#include "stap/report/field.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

// What is kept of an extract: every so manieth time and point.
struct Thinning {
  std::size_t times = 1, points = 1;
};

std::size_t kept(std::size_t n, std::size_t every) {
  return (n + every - 1) / every;
}

std::size_t pixels(const Grid& grid, std::size_t times, const Thinning& thin) {
  std::size_t n = kept(times, thin.times);
  for (const std::size_t points : grid.points) n *= kept(points, thin.points);
  return n;
}

// Every second time first, then points, then more times; at least two points and times are left.
Thinning thinning_for(const Grid& grid, std::size_t times, std::size_t most) {
  Thinning thin;
  if (pixels(grid, times, thin) > most && times > 3) thin.times = 2;
  const std::size_t least = *std::ranges::min_element(grid.points);
  while (pixels(grid, times, thin) > most && kept(least, thin.points) > 16) ++thin.points;
  while (pixels(grid, times, thin) > most && kept(times, thin.times) > 2) ++thin.times;
  return thin;
}

// Where the values of a picture come from: one channel of the kept times, laid out as FieldChannel
// says.
struct Layout {
  const Grid& grid;
  Thinning thin;
  std::size_t times;    // kept
  std::size_t columns;  // of tiles

  std::size_t tile_width() const {
    return grid.axes() == 1 ? times : kept(grid.points[0], thin.points);
  }
  std::size_t tile_height() const { return kept(grid.points.back(), thin.points); }
  std::size_t width() const { return grid.axes() == 1 ? times : columns * tile_width(); }
  std::size_t height() const {
    return grid.axes() == 1 ? tile_height() : kept(times, columns) * tile_height();
  }
};

std::vector<float> arranged(const std::vector<float>& states, std::size_t channel,
                            const Layout& layout) {
  const Grid& grid = layout.grid;
  std::vector<float> pixels(layout.width() * layout.height(),
                            std::numeric_limits<float>::quiet_NaN());
  const std::size_t w = layout.tile_width(), h = layout.tile_height();
  for (std::size_t t = 0; t < layout.times; ++t) {
    const float* state =
        states.data() + (t * layout.thin.times * grid.channels + channel) * grid.points_total();
    if (grid.axes() == 1) {
      for (std::size_t i = 0; i < h; ++i)
        pixels[(h - 1 - i) * layout.width() + t] = state[i * layout.thin.points];
      continue;
    }
    const std::size_t left = t % layout.columns * w, top = t / layout.columns * h;
    for (std::size_t x = 0; x < w; ++x)
      for (std::size_t y = 0; y < h; ++y)
        pixels[(top + h - 1 - y) * layout.width() + left + x] =
            state[x * layout.thin.points * grid.points[1] + y * layout.thin.points];
  }
  return pixels;
}

struct Limits {
  double low = INFINITY, high = -INFINITY;
  void add(std::span<const float> values) {
    for (const float v : values)
      if (std::isfinite(v)) {
        low = std::min<double>(low, v);
        high = std::max<double>(high, v);
      }
  }
};

// The truth's, and of the prediction's what does not make it small.
Limits common_limits(const std::vector<float>& truth, const std::vector<float>& prediction) {
  Limits limits, both;
  limits.add(truth);
  both.add(truth);
  both.add(prediction);
  if (!(both.low <= both.high)) return {0, 1};
  if (!(limits.low <= limits.high)) limits = both;
  const double spare = 0.25 * (limits.high - limits.low);
  Limits result = both;
  if (spare > 0) {
    result.low = std::max(both.low, limits.low - spare);
    result.high = std::min(both.high, limits.high + spare);
  }
  if (result.low == result.high) {
    const double room = std::max(0.5 * std::abs(result.low), 1e-30);
    result = {result.low - room, result.high + room};
  }
  return result;
}

FieldChannel make_channel(const Extract& extract, std::size_t c, const std::string& name,
                          const Layout& layout) {
  const std::vector<float> truth = arranged(extract.truth, c, layout);
  const std::vector<float> prediction = arranged(extract.mean, c, layout);
  std::vector<float> error(truth.size());
  double largest = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    error[i] = prediction[i] - truth[i];
    if (std::isfinite(error[i])) largest = std::max<double>(largest, std::abs(error[i]));
  }
  const Limits limits = common_limits(truth, prediction);
  // A prediction without any error is white all over.
  if (largest == 0) largest = 1e-6 * std::max(std::abs(limits.low), std::abs(limits.high));
  // One that explodes shows where it begins to.
  largest = std::min(largest, 2 * (limits.high - limits.low));
  const std::size_t w = layout.width(), h = layout.height();
  return {name, make_picture(w, h, truth, limits.low, limits.high, Palette::sequential),
          make_picture(w, h, prediction, limits.low, limits.high, Palette::sequential),
          make_picture(w, h, error, -largest, largest, Palette::diverging)};
}

}  // namespace

Field make_field(const RunExtracts& extracts, ExtractKind kind,
                 const std::vector<std::string>& channels, std::size_t pixels_most) {
  const auto& rollouts = extracts.extracts.rollouts;
  const auto found = std::ranges::find(rollouts, kind, &Extract::kind);
  if (found == rollouts.end())
    throw Error(ErrorKind::data,
                fmt::format("there is no {} trajectory among the extracts: {}", to_string(kind),
                            rollouts.empty() ? "a state was too large for them"
                                             : "they were written by another version"));
  const Grid& grid = extracts.states.grid;
  const std::vector<std::size_t>& times = extracts.extracts.times;
  Layout layout{grid, thinning_for(grid, times.size(), pixels_most), 0, 1};
  layout.times = kept(times.size(), layout.thin.times);
  if (grid.axes() > 1)
    layout.columns =
        static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(layout.times))));
  Field field{.kind = kind,
              .trajectory = found->trajectory,
              .round = extracts.round,
              .rmse = found->rmse,
              .dimensions = grid.axes(),
              .width = layout.tile_width(),
              .height = layout.tile_height(),
              .columns = layout.columns,
              .lengths = grid.lengths};
  const double dt = extracts.states.dt > 0 ? extracts.states.dt : 1.0;
  for (std::size_t t = 0; t < times.size(); t += layout.thin.times)
    field.times.push_back(static_cast<double>(times[t]) * dt);
  for (std::size_t c = 0; c < grid.channels; ++c)
    field.channels.push_back(make_channel(*found, c, channels.at(c), layout));
  return field;
}

}  // namespace stap
