#include "stap/eval/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

std::optional<double> steps_to_reach(const LearningCurve& curve, double level) {
  const auto& steps = curve.steps;
  const auto& error = curve.log_error;
  for (std::size_t i = 0; i < error.size(); ++i) {
    if (!(error[i] <= level)) continue;
    // Between a diverged evaluation and this one there is no line.
    if (i == 0 || !std::isfinite(error[i - 1])) return steps[i];
    const double part = (error[i - 1] - level) / (error[i - 1] - error[i]);
    return steps[i - 1] + part * (steps[i] - steps[i - 1]);
  }
  return std::nullopt;
}

std::optional<double> data_efficiency(const LearningCurve& baseline, const LearningCurve& active) {
  if (baseline.log_error.empty() || active.log_error.empty()) return std::nullopt;
  const double reached = active.log_error.back(), to_reach = baseline.log_error.back();
  if (!std::isfinite(reached) || !std::isfinite(to_reach)) return std::nullopt;
  const bool better = reached < to_reach;
  const LearningCurve &slow = better ? baseline : active, &quick = better ? active : baseline;
  const std::optional<double> needed = steps_to_reach(quick, slow.log_error.back());
  if (!needed || !(*needed > 0.0) || !(slow.steps.back() > 0.0)) return std::nullopt;
  const double efficiency = better ? slow.steps.back() / *needed : *needed / slow.steps.back();
  // One that stopped early, above the baseline's end, never showed that it would get there.
  if (!better && efficiency > 1.0) return std::nullopt;
  return efficiency;
}

CostVerdict judge_cost(const CostTerms& t) {
  if (!(t.efficiency > 0.0) || !std::isfinite(t.efficiency))
    throw Error(ErrorKind::config,
                fmt::format("a data efficiency of {}, expected a number above 0, such as 2 for "
                            "half the data",
                            t.efficiency));
  const double bought = t.budget * t.rounds;
  const double n = std::max(1.0, std::round(t.rounds / t.efficiency));
  const double trained_once = t.initial + bought;
  const double trained = (n + 1) * t.initial + t.budget * n * (n + 1) / 2;
  CostVerdict verdict;
  verdict.active_rounds = n;
  verdict.baseline_seconds = bought * t.acquire + trained_once * t.train;
  verdict.active_seconds = bought / t.efficiency * t.acquire + trained * t.train + n * t.select;
  const double extra = (trained - trained_once) * t.train + n * t.select;
  const double saved_steps = bought - bought / t.efficiency;
  verdict.turning_acquire = saved_steps > 0.0 ? std::max(0.0, extra / saved_steps)
                                              : std::numeric_limits<double>::infinity();
  return verdict;
}

}  // namespace stap
