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

// The truth's, and of the predictions' what does not make it small.
Limits common_limits(const std::vector<float>& truth,
                     const std::vector<std::vector<float>>& predictions) {
  Limits limits, both;
  limits.add(truth);
  both.add(truth);
  for (const auto& prediction : predictions) both.add(prediction);
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

// Whether values go to both sides of 0, and not by a little noise.
bool is_signed(const Limits& limits) {
  constexpr double kLeast = 0.1;
  return limits.low < 0 && limits.high > 0 &&
         std::min(-limits.low, limits.high) >= kLeast * std::max(-limits.low, limits.high);
}

FieldChannel make_channel(std::span<const Extract* const> extracts, std::size_t c,
                          const std::string& name, const Layout& layout) {
  const std::vector<float> truth = arranged(extracts[0]->truth, c, layout);
  std::vector<std::vector<float>> predictions, errors;
  double largest = 0;
  for (const Extract* extract : extracts) {
    const auto& prediction = predictions.emplace_back(arranged(extract->mean, c, layout));
    auto& error = errors.emplace_back(truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i) {
      error[i] = prediction[i] - truth[i];
      if (std::isfinite(error[i])) largest = std::max<double>(largest, std::abs(error[i]));
    }
  }
  Limits limits = common_limits(truth, predictions);
  // A prediction without any error is white all over.
  if (largest == 0) largest = 1e-6 * std::max(std::abs(limits.low), std::abs(limits.high));
  // One that explodes shows where it begins to.
  largest = std::min(largest, 2 * (limits.high - limits.low));
  const bool both_signs = is_signed(limits);
  if (both_signs) {
    limits.high = std::max(-limits.low, limits.high);
    limits.low = -limits.high;
  }
  const auto picture = [&](const std::vector<float>& values) {
    return make_picture(layout.width(), layout.height(), values, limits.low, limits.high,
                        both_signs ? Palette::diverging : Palette::sequential);
  };
  FieldChannel channel{name, picture(truth), {}, {}};
  for (std::size_t m = 0; m < extracts.size(); ++m) {
    channel.predictions.push_back(picture(predictions[m]));
    channel.errors.push_back(make_picture(layout.width(), layout.height(), errors[m], -largest,
                                          largest, Palette::diverging));
  }
  return channel;
}

}  // namespace

bool same_trajectories(const RunExtracts& a, const RunExtracts& b) {
  return a.extracts.times == b.extracts.times &&
         std::ranges::equal(a.extracts.rollouts, b.extracts.rollouts, {}, &Extract::trajectory,
                            &Extract::trajectory) &&
         a.states.grid == b.states.grid;
}

Field make_field(std::span<const FieldSource> sources, ExtractKind kind,
                 const std::vector<std::string>& channels, std::size_t pixels_most) {
  const RunExtracts& first = *sources[0].extracts;
  std::vector<const Extract*> rollouts;
  for (const FieldSource& source : sources) {
    const auto& all = source.extracts->extracts.rollouts;
    const auto found = std::ranges::find(all, kind, &Extract::kind);
    if (found == all.end())
      throw Error(ErrorKind::data,
                  fmt::format("there is no {} trajectory among the extracts: {}", to_string(kind),
                              all.empty() ? "a state was too large for them"
                                          : "they were written by another version"));
    if (!same_trajectories(*source.extracts, first))
      throw Error(ErrorKind::internal, "pictures of different test trajectories");
    rollouts.push_back(&*found);
  }
  const Grid& grid = first.states.grid;
  const std::vector<std::size_t>& times = first.extracts.times;
  Layout layout{grid, thinning_for(grid, times.size(), pixels_most), 0, 1};
  layout.times = kept(times.size(), layout.thin.times);
  if (grid.axes() > 1)
    layout.columns =
        static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(layout.times))));
  Field field{.kind = kind,
              .trajectory = rollouts[0]->trajectory,
              .round = first.round,
              .dimensions = grid.axes(),
              .width = layout.tile_width(),
              .height = layout.tile_height(),
              .columns = layout.columns,
              .lengths = grid.lengths};
  for (std::size_t m = 0; m < sources.size(); ++m) {
    field.models.push_back(sources[m].model);
    field.models.back().rmse = rollouts[m]->rmse;
  }
  const double dt = first.states.dt > 0 ? first.states.dt : 1.0;
  for (std::size_t t = 0; t < times.size(); t += layout.thin.times)
    field.times.push_back(static_cast<double>(times[t]) * dt);
  for (std::size_t c = 0; c < grid.channels; ++c)
    field.channels.push_back(make_channel(rollouts, c, channels.at(c), layout));
  return field;
}

}  // namespace stap
