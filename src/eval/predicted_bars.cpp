#include "stap/eval/predicted_bars.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stap/core/error.h"
#include "stap/eval/coverage.h"
#include "stap/eval/rollout_models.h"

namespace stap {

PredictedBars predict_bars(Committee& committee, StatesView<const float> initial, std::size_t calls,
                           const ErrorBars& bars, const PredictedBarsOptions& options,
                           ConditionsView conditions) {
  const std::size_t k = bars.cluster, channels = bars.channels;
  if (committee.grid().channels != k * channels)
    throw Error(ErrorKind::internal, "error bars of other channels or clusters");
  const std::size_t state = committee.grid().values() / k, points = state / channels;
  const std::size_t times = k * (calls + 1);
  const std::vector<double>& factors = options.from_any ? bars.any : bars.first;
  const auto factor = [&](std::size_t kind, std::size_t step) {
    return step < bars.steps ? factors[kind * bars.steps + step]
                             : std::numeric_limits<double>::infinity();
  };
  PredictedBars result;
  result.all.resize(initial.count * times);
  result.channels.resize(result.all.size() * channels);
  if (options.bands) result.bands.resize(result.all.size() * state);
  std::vector<char> lost(initial.count, 0), beyond(initial.count, 0), far(initial.count, 0);
  std::vector<std::size_t> beyond_at(bars.steps, 0);  // rows, by step
  std::vector<int> models(static_cast<std::size_t>(committee.members()) + 1, kMean);
  std::iota(models.begin() + 1, models.end(), 0);  // the averaged model, then the members

  const auto fill = [&](std::size_t row, std::size_t step, const BarScales& scales) {
    const auto bar = [&](std::size_t kind, double scale) {
      return lost[row] ? half_width(factor(kind, step), std::numeric_limits<double>::infinity())
                       : half_width(factor(kind, step), scale);
    };
    const std::size_t at = row * times + k + step;
    result.all[at] = bar(0, scales.scales[0]);
    for (std::size_t c = 0; c < channels; ++c) {
      result.channels[at * channels + c] = bar(1 + c, scales.scales[1 + c]);
      for (std::size_t v = c * points; options.bands && v < (c + 1) * points; ++v)
        result.bands[at * state + v] = bar(1 + channels + c, scales.points[v]);
    }
    if (step >= bars.steps || scales.scales[0] <= bars.widest[step]) return;
    beyond[row] = 1;
    ++beyond_at[step];
    far[row] |= static_cast<char>(!(scales.scales[0] <= 2 * bars.widest[step]));
  };
  roll_out_models(
      committee, initial, models, calls, options.block,
      [&](std::size_t call, std::size_t first, std::span<const StatesView<const float>> made) {
        const std::size_t rows = made.front().count;
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t frame = 0; frame < k; ++frame) {
            std::vector<std::span<const float>> members;
            for (const auto& model : made)
              members.push_back(model.row(r).subspan(frame * state, state));
            const auto finite = [](float value) { return std::isfinite(value); };
            // What has diverged stays so, whatever the networks make of it.
            lost[first + r] |= static_cast<char>(!std::ranges::all_of(members[0], finite));
            const BarScales scales = bar_scales(std::span(members).subspan(1), bars.floor);
            lost[first + r] |= static_cast<char>(std::isinf(scales.scales[0]));
            fill(first + r, call * k + frame, scales);
          }
        if (options.advanced) options.advanced(rows * k);
      },
      conditions);
  // The greatest of n + 1 is the new one once in n + 1 times.
  const double n = static_cast<double>(bars.trajectories);
  const std::size_t by_chance =
      initial.count - coverage_range(bars.trajectories, n / (n + 1), initial.count).first;
  const bool too_many =
      std::ranges::any_of(beyond_at, [&](std::size_t rows) { return rows > by_chance; });
  result.unlike = static_cast<std::size_t>(std::ranges::count(too_many ? beyond : far, 1));
  return result;
}

}  // namespace stap
