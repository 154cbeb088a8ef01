#include "stap/eval/metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "core/parallel.h"
#include "stap/core/error.h"
#include "stap/eval/rollout.h"
#include "stap/eval/statistics.h"

namespace stap {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Errors of one state; infinite where the prediction is not finite.
struct StateError {
  double squared = 0;   // sum over channels and points of e^2
  double absolute = 0;  // of |e|
};

// Adds e^2 to those of its channel, too.
StateError state_error(std::span<const float> predicted, std::span<const float> truth,
                       const FixedFields* fixed, std::span<double> channels) {
  const std::size_t points = truth.size() / channels.size();
  StateError error;
  for (std::size_t k = 0; k < truth.size(); ++k) {
    if (is_masked(fixed, k % points)) continue;
    const double e = static_cast<double>(predicted[k]) - static_cast<double>(truth[k]);
    error.squared += e * e;
    channels[k / points] += e * e;
    error.absolute += std::abs(e);
  }
  // Floats cannot overflow a sum of squares in double: this is a value that was not finite.
  if (std::isfinite(error.squared)) return error;
  std::ranges::fill(channels, kInfinite);
  return {kInfinite, kInfinite};
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void check(const Committee& committee, const TrajectoriesView& test, int threads) {
  const auto& states = test.states;
  const std::size_t k = test.cluster;
  if (states.row_size * k != committee.grid().values())
    throw Error(
        ErrorKind::data,
        fmt::format("test states have {} values, expected {} as the model's grid ({}){}",
                    states.row_size, committee.grid().values() / k, committee.grid().shape_text(),
                    k > 1 ? fmt::format(" for clusters of {}", k) : ""));
  if (test.times < 2 || states.count == 0 || states.count % test.times != 0)
    throw Error(ErrorKind::data,
                fmt::format("{} test states in trajectories of {} times, expected whole "
                            "trajectories of at least 2 times, and at least one",
                            states.count, test.times));
  if (test.times % k != 0 || test.times < 2 * k)
    throw Error(ErrorKind::data,
                fmt::format("trajectories of {} times for a model that takes {} states and makes "
                            "{} steps at once: expected a multiple of {}, at least {}",
                            test.times, k, k, k, 2 * k));
  std::vector<char> finite(states.count);
  parallel_for(threads, states.count, [&](std::size_t row, int) {
    finite[row] = std::ranges::all_of(states.row(row), [](float x) { return std::isfinite(x); });
  });
  const auto bad = static_cast<std::size_t>(std::ranges::find(finite, 0) - finite.begin());
  if (bad < states.count)
    throw Error(ErrorKind::data, fmt::format("test trajectory {} is not finite at time {}; leave "
                                             "out trajectories that did not come to their end",
                                             bad / test.times, bad % test.times));
}

// Sums over steps 1 .. L of u^2.
struct SquaredNorms {
  std::vector<double> by_trajectory, by_channel;  // [trajectory], [trajectory][channel]
};
SquaredNorms squared_norms(const TrajectoriesView& test, const FixedFields* fixed,
                           std::size_t points, int threads) {
  const std::size_t channels = test.states.row_size / points;
  SquaredNorms norms{std::vector<double>(test.count()),
                     std::vector<double>(test.count() * channels)};
  parallel_for(threads, test.count(), [&](std::size_t b, int) {
    for (std::size_t t = test.cluster; t < test.times; ++t) {
      double squared = 0;
      const std::span<const float> state = test.states.row(b * test.times + t);
      for (std::size_t k = 0; k < state.size(); ++k) {
        if (is_masked(fixed, k % points)) continue;
        const double square = static_cast<double>(state[k]) * static_cast<double>(state[k]);
        squared += square;
        norms.by_channel[b * channels + k / points] += square;
      }
      norms.by_trajectory[b] += squared;
    }
  });
  return norms;
}

States<float> initial_states(const Grid& grid, const TrajectoriesView& test) {
  States<float> initial(grid, test.count());
  for (std::size_t b = 0; b < test.count(); ++b) {
    const float* from = test.states.row(b * test.times).data();  // and the states after it
    std::copy_n(from, grid.values(), initial.row(b).begin());
  }
  return initial;
}

// The mean of sqrt(error / norm) over trajectories. Nothing is relative to one that is zero
// everywhere: it is left out, and without any other there is no such mean (not a number).
double mean_relative(std::span<const double> squared_errors,
                     std::span<const double> squared_norms) {
  std::vector<double> ratios;
  for (std::size_t b = 0; b < squared_errors.size(); ++b)
    if (squared_norms[b] > 0) ratios.push_back(std::sqrt(squared_errors[b] / squared_norms[b]));
  return ratios.empty() ? std::numeric_limits<double>::quiet_NaN() : mean(ratios);
}

// What all rollouts of one evaluation share.
struct Rollouts {
  Committee& committee;
  TrajectoriesView test;
  States<float> initial;
  SquaredNorms norms;
  std::size_t block;
  int threads;
  std::span<const StateMap> images;
};

// Errors of one member, or of the mean model, and its RMSE by trajectory; `rolled` hears how many
// steps have been made.
Errors errors_of(const Rollouts& r, int member, const std::function<void(std::size_t)>& rolled,
                 std::vector<double>& rmse) {
  const TrajectoriesView& test = r.test;
  const std::size_t count = test.count(), steps = test.steps(), k = test.cluster;
  const std::size_t state_size = test.states.row_size;
  const auto real = [](std::size_t n) { return static_cast<double>(n); };
  const FixedFields* fixed = r.committee.fixed();
  const double points = real(counted_points(r.committee.grid(), fixed));
  const std::size_t channels = state_size / r.committee.grid().points_total();
  std::vector<StateError> sums(count);
  std::vector<double> by_channel(count * channels);  // [trajectory][channel], squared
  std::vector<std::vector<double>> by_step(steps, std::vector<double>(count));
  roll_out(
      r.committee, r.initial.view(), member, steps / k, r.block,
      [&](std::size_t call, std::size_t first, StatesView<const float> states) {
        parallel_for(r.threads, states.count, [&](std::size_t row, int) {
          const std::size_t b = first + row;
          for (std::size_t frame = 0; frame < k; ++frame) {
            const std::size_t step = call * k + frame;
            StateError error = state_error(states.row(row).subspan(frame * state_size, state_size),
                                           test.states.row(b * test.times + k + step), fixed,
                                           std::span(by_channel).subspan(b * channels, channels));
            // What has diverged stays so, whatever the network makes of it.
            if (std::isinf(sums[b].squared)) error = {kInfinite, kInfinite};
            sums[b].squared += error.squared;
            sums[b].absolute += error.absolute;
            by_step[step][b] = std::sqrt(error.squared / points);
          }
        });
        rolled(first * steps + states.count * (call + 1) * k);
      },
      test.conditions, r.images, r.threads);

  Errors errors;
  std::vector<double> squared(count), norms(count), mae(count), rmse_of(count);
  rmse.resize(count);
  for (std::size_t b = 0; b < count; ++b) {
    squared[b] = sums[b].squared;
    rmse[b] = std::sqrt(squared[b] / (real(steps) * points));
    mae[b] = sums[b].absolute / (real(steps) * real(channels) * points);
    if (std::isinf(rmse[b])) ++errors.diverged;
  }
  errors.rmse = mean(rmse);
  errors.nrmse = mean_relative(squared, r.norms.by_trajectory);
  errors.mae = mean(mae);
  errors.rmse_q50 = quantile(rmse, 50);
  errors.rmse_q95 = quantile(rmse, 95);
  errors.rmse_q99 = quantile(rmse, 99);
  for (const std::vector<double>& step : by_step) errors.rmse_by_step.push_back(mean(step));
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t b = 0; b < count; ++b) {
      squared[b] = by_channel[b * channels + c];
      norms[b] = r.norms.by_channel[b * channels + c];
      rmse_of[b] = std::sqrt(squared[b] / (real(steps) * points));
    }
    errors.rmse_by_channel.push_back(mean(rmse_of));
    errors.nrmse_by_channel.push_back(mean_relative(squared, norms));
  }
  return errors;
}

// Adds one of `models` to their mean.
void add(Errors& sum, const Errors& one, std::size_t models) {
  const double n = static_cast<double>(models);
  for (double Errors::*field : {&Errors::rmse, &Errors::nrmse, &Errors::mae, &Errors::rmse_q50,
                                &Errors::rmse_q95, &Errors::rmse_q99})
    sum.*field += one.*field / n;
  for (auto Errors::*list :
       {&Errors::rmse_by_step, &Errors::rmse_by_channel, &Errors::nrmse_by_channel}) {
    (sum.*list).resize((one.*list).size());
    for (std::size_t i = 0; i < (one.*list).size(); ++i) (sum.*list)[i] += (one.*list)[i] / n;
  }
  sum.diverged += one.diverged;
}

double standard_error(const std::vector<double>& values) {
  const Summary summary = summarise(values);
  const double error = summary.deviation / std::sqrt(static_cast<double>(summary.count));
  return std::isfinite(error) ? error : kInfinite;
}

}  // namespace

double quantile(std::vector<double> values, int percent) {
  if (values.empty()) throw Error(ErrorKind::internal, "a quantile of no values");
  std::sort(values.begin(), values.end());
  // In whole hundredths: rounding must not move a position past an order statistic, since the next
  // one may be infinite.
  const std::size_t position = static_cast<std::size_t>(percent) * (values.size() - 1);
  const double low = values[position / 100];
  if (position % 100 == 0) return low;
  const double high = values[position / 100 + 1];
  if (std::isinf(high)) return high;
  return low + static_cast<double>(position % 100) / 100.0 * (high - low);
}

double Metrics::to_published(double value) const {
  const std::size_t calls = steps / cluster;
  if (calls < 2) return kInfinite;
  return value * std::sqrt(static_cast<double>(steps) * static_cast<double>(points)) /
         static_cast<double>(calls - 1);
}

Metrics evaluate(Committee& committee, const TrajectoriesView& test, std::size_t block,
                 Observer* observer, int threads_asked, std::span<const StateMap> images) {
  const int threads = thread_count(threads_asked);
  check(committee, test, threads);
  const std::size_t members = static_cast<std::size_t>(committee.members());
  Metrics metrics;
  metrics.trajectories = test.count();
  metrics.members = members;
  metrics.steps = test.steps();
  metrics.cluster = test.cluster;
  metrics.points = counted_points(committee.grid(), committee.fixed());
  const Rollouts rollouts{
      .committee = committee,
      .test = test,
      .initial = initial_states(committee.grid(), test),
      .norms = squared_norms(test, committee.fixed(), committee.grid().points_total(), threads),
      .block = block,
      .threads = threads,
      .images = images};
  const std::size_t each = test.count() * test.steps();
  std::vector<double> members_by_trajectory(test.count(), 0.0);
  for (std::size_t m = 0; m <= members; ++m) {
    const auto rolled = [&](std::size_t done) {
      if (observer)
        observer->progress({.phase = "evaluate",
                            .done = m * each + done,
                            .total = (members + 1) * each,
                            .unit = "steps"});
    };
    // The mean model comes last, so the errors by trajectory that stay are its.
    const int model = m == members ? kMean : static_cast<int>(m);
    Errors errors = errors_of(rollouts, model, rolled, metrics.mean_model_by_trajectory);
    const std::vector<double>& by_trajectory = metrics.mean_model_by_trajectory;
    if (model == kMean) {
      errors.rmse_standard_error = standard_error(by_trajectory);
      metrics.mean_model = std::move(errors);
      continue;
    }
    add(metrics, errors, members);
    for (std::size_t b = 0; b < test.count(); ++b)
      members_by_trajectory[b] += by_trajectory[b] / static_cast<double>(members);
  }
  metrics.rmse_standard_error = standard_error(members_by_trajectory);
  return metrics;
}

}  // namespace stap
