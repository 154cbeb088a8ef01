#include "stap/eval/extracts.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/eval/rollout.h"

namespace stap {
namespace {

constexpr std::size_t kCalibrated = 64;  // trajectories; enough for quantile bins

// 0 .. times-1, or evenly spaced ones of them, at most `most`; none if that is below two.
std::vector<std::size_t> kept_times(std::size_t times, std::size_t most) {
  std::vector<std::size_t> kept;
  const std::size_t n = std::min(times, most);
  if (n < 2) return kept;
  for (std::size_t i = 0; i < n; ++i) kept.push_back(i * (times - 1) / (n - 1));
  return kept;
}

Extract extract(Committee& committee, const TrajectoriesView& test,
                const std::vector<std::size_t>& times, ExtractKind kind, std::size_t trajectory,
                double rmse) {
  const std::size_t values = test.states.row_size, k = test.cluster;
  const auto truth = test.states.rows(trajectory * test.times, test.times);
  std::vector<float> rolled(truth.values, truth.values + k * values);  // the initial cluster
  const StatesView<const float> initial{truth.values, 1, k * values};
  roll_out(
      committee, initial, kMean, test.steps() / k, 1,
      [&](std::size_t, std::size_t, StatesView<const float> states) {
        rolled.insert(rolled.end(), states.values, states.values + k * values);
      },
      test.conditions.part(trajectory, 1));
  Extract result{.kind = kind, .trajectory = trajectory, .rmse = rmse};
  for (std::size_t t : times) {
    result.truth.insert(result.truth.end(), truth.row(t).begin(), truth.row(t).end());
    const auto* state = rolled.data() + t * values;
    result.mean.insert(result.mean.end(), state, state + values);
  }
  return result;
}

}  // namespace

std::string_view to_string(ExtractKind kind) {
  return kind == ExtractKind::best ? "best" : kind == ExtractKind::median ? "median" : "worst";
}

Extracts take_extracts(Committee& committee, const TrajectoriesView& test, const Metrics& metrics,
                       std::size_t bytes_most) {
  const std::vector<double>& rmse = metrics.mean_model_by_trajectory;
  if (rmse.size() != test.count() || rmse.empty())
    throw Error(ErrorKind::internal, fmt::format("errors of {} trajectories, but there are {}",
                                                 rmse.size(), test.count()));
  Extracts extracts;
  constexpr ExtractKind kKinds[] = {ExtractKind::best, ExtractKind::median, ExtractKind::worst};
  if (committee.members() > 1) {
    const std::size_t row = 3 * test.steps() * sizeof(double);  // spread and two errors
    const std::size_t n = std::min({test.count(), kCalibrated, bytes_most / 4 / row});
    if (n > 0)
      extracts.calibration = calibrate(committee, {test.states.rows(0, n * test.times), test.times,
                                                   test.cluster, test.conditions.part(0, n)});
  }
  const std::size_t per_time = 2 * std::size(kKinds) * test.states.row_size * sizeof(double);
  extracts.times = kept_times(test.times, bytes_most / 4 * 3 / per_time);
  if (extracts.times.empty()) return extracts;

  std::vector<std::size_t> order(rmse.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t b) { return rmse[b]; });
  for (const ExtractKind kind : kKinds) {
    const std::size_t place = kind == ExtractKind::best     ? 0
                              : kind == ExtractKind::median ? (order.size() - 1) / 2
                                                            : order.size() - 1;
    extracts.rollouts.push_back(
        extract(committee, test, extracts.times, kind, order[place], rmse[order[place]]));
  }
  return extracts;
}

}  // namespace stap
