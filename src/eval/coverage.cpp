#include "stap/eval/coverage.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"

namespace stap {
namespace {

// Of a beta-binomial number in 0 .. n: the logarithm of its probability.
double log_probability(double x, double n, double a, double b) {
  const auto log_beta = [](double p, double q) {
    return std::lgamma(p) + std::lgamma(q) - std::lgamma(p + q);
  };
  return std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
         log_beta(x + a, n - x + b) - log_beta(a, b);
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 50);
}

// A kind and step of all starts that count.
void judge(const ErrorBars& bars, const std::vector<double>& factors, const BarTrials& trials,
           std::size_t starts, std::size_t kind, std::size_t step, Coverage& to) {
  const double factor = factors[kind * bars.steps + step];
  std::vector<double> widths, errors;
  std::size_t within = 0;
  for (std::size_t start = 0; start < starts; ++start)
    for (std::size_t b = 0; b < trials.trajectories; ++b) {
      const std::size_t at = trials.at(start, kind, step) + b;
      within += trials.scores[at] <= factor ? 1 : 0;
      widths.push_back(half_width(factor, trials.scales[at]));
      errors.push_back(half_width(trials.scores[at], trials.scales[at]));
    }
  to.found.push_back(static_cast<double>(within) / static_cast<double>(widths.size()));
  to.bar.push_back(median(std::move(widths)));
  to.error.push_back(median(std::move(errors)));
}

// By the width of bars, which is in the order of the scales.
std::vector<double> coverage_by_thirds(const ErrorBars& bars, const BarTrials& trials,
                                       std::size_t steps) {
  const std::size_t n = trials.trajectories;
  if (n < 3) return {};
  std::vector<double> shares(3, 0.0);
  std::vector<std::size_t> order(n);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t at = trials.at(0, 0, step);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t b) { return trials.scales[at + b]; });
    for (std::size_t third = 0; third < 3; ++third) {
      const std::size_t begin = third * n / 3, end = (third + 1) * n / 3;
      const auto within =
          std::count_if(order.begin() + static_cast<std::ptrdiff_t>(begin),
                        order.begin() + static_cast<std::ptrdiff_t>(end),
                        [&](std::size_t b) { return trials.scores[at + b] <= bars.first[step]; });
      shares[third] += static_cast<double>(within) / static_cast<double>((end - begin) * steps);
    }
  }
  return shares;
}

}  // namespace

std::pair<std::size_t, std::size_t> coverage_range(std::size_t calibrated, double level,
                                                   std::size_t judged) {
  constexpr double kTail = 0.0005;
  const double n = static_cast<double>(calibrated), j = static_cast<double>(judged);
  const double a = std::ceil((n + 1) * level * (1 - 1e-12)), b = n + 1 - a;
  if (!(a > 0) || !(b > 0) || judged == 0) return {0, judged};
  std::size_t least = 0, most = judged;
  double below = 0.0, above = 0.0;
  const auto probability = [&](std::size_t x) {
    return std::exp(log_probability(static_cast<double>(x), j, a, b));
  };
  while (least < judged && (below += probability(least)) < kTail) ++least;
  while (most > 0 && (above += probability(most)) < kTail) --most;
  return {least, most};
}

JudgedBars judge_bars(const ErrorBars& bars, const BarTrials& trials) {
  if (trials.channels != bars.channels || trials.cluster != bars.cluster)
    throw Error(ErrorKind::internal, "error bars of other channels or clusters");
  JudgedBars judged{.level = bars.level,
                    .calibrated_on = bars.trajectories,
                    .judged_on = trials.trajectories,
                    .channels = bars.channels,
                    .steps = std::min(bars.steps, trials.steps)};
  for (std::size_t kind = 0; kind < bar_kinds(bars.channels); ++kind)
    for (std::size_t step = 0; step < judged.steps; ++step) {
      judge(bars, bars.first, trials, 1, kind, step, judged.first);
      judge(bars, bars.any, trials, trials.starts_of(step), kind, step, judged.any);
    }
  judged.thirds = coverage_by_thirds(bars, trials, judged.steps);
  const auto [least, most] = coverage_range(bars.trajectories, bars.level, trials.trajectories);
  const double n = static_cast<double>(trials.trajectories);
  judged.least = static_cast<double>(least) / n;
  judged.most = static_cast<double>(most) / n;
  return judged;
}

JudgedBars judge_bars(const ErrorBars& bars, Committee& committee, const TrajectoriesView& test,
                      Observer* observer) {
  const auto used = [&](std::size_t b) {
    for (std::size_t t = 0; t < test.times; ++t)
      if (std::ranges::binary_search(bars.states, state_hash(test.states.row(b * test.times + t),
                                                             test.conditions.parameters_of(b))))
        return true;
    return false;
  };
  // No longer than the trajectories of the calibration: there are no bars behind them.
  const std::size_t times = std::min(test.times, bars.cluster + bars.steps);
  std::vector<float> values;
  Conditions conditions;
  for (std::size_t b = 0; b < test.count(); ++b) {
    if (used(b)) continue;
    const auto rows = test.states.rows(b * test.times, times);
    values.insert(values.end(), rows.values, rows.values + rows.count * rows.row_size);
    conditions.add(test.conditions.step(b), test.conditions.parameters_of(b));
  }
  const std::size_t left_out = test.count() - conditions.steps.size();
  if (conditions.steps.empty()) {
    JudgedBars judged;
    judged.left_out = left_out;
    judged.absent = fmt::format(
        "all {} trajectories are those that the error bars were calibrated on: give others",
        left_out);
    return judged;
  }
  TrajectoriesView others = test;
  others.states = {values.data(), conditions.steps.size() * times, test.states.row_size};
  others.times = times;
  others.conditions = conditions.view();
  JudgedBars judged = judge_bars(bars, try_bars(committee, others, bars.floor, 64, observer));
  judged.left_out = left_out;
  return judged;
}

std::vector<std::size_t> JudgedBars::failing(const Coverage& coverage, std::size_t kind) const {
  std::vector<std::size_t> steps_failing;
  for (std::size_t step = 0; step < steps; ++step)
    if (coverage.found[kind * steps + step] < least) steps_failing.push_back(step);
  return steps_failing;
}

std::string coverage_warning(const JudgedBars& judged) {
  if (!judged.absent.empty()) return {};
  std::vector<std::size_t> steps;
  double worst = 1.0;
  for (const Coverage* coverage : {&judged.first, &judged.any})
    for (std::size_t kind = 0; kind < bar_kinds(judged.channels); ++kind)
      for (const std::size_t step : judged.failing(*coverage, kind)) {
        steps.push_back(step + 1);
        worst = std::min(worst, coverage->found[kind * judged.steps + step]);
      }
  if (steps.empty()) return {};
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return fmt::format(
      "error bars do not hold here: {:g} % were asked, but as few as {:.1f} % of the errors are "
      "within theirs (at {} {}); chance alone leaves {:.1f} % or more. These trajectories are of "
      "another kind than those of the calibration: calibrate on ones like them",
      100 * judged.level, 100 * worst, steps.size() == 1 ? "step" : "steps", fmt::join(steps, ", "),
      100 * judged.least);
}

}  // namespace stap
