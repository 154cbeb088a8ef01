#pragma once

#include <cmath>
#include <optional>
#include <span>

namespace stap {

/// A learning curve: the natural logarithm of the error over the solver steps bought so far, one
/// point per evaluation, the first at 0 steps. Both have the same length.
struct LearningCurve {
  std::span<const double> steps, log_error;
};
/// Solver steps after which the error is at or below `level` for the first time, the logarithm
/// taken as linear between evaluations; empty if it never is.
std::optional<double> steps_to_reach(const LearningCurve& curve, double level);

/// How many times fewer solver steps `active` needs than `baseline` for the same error. Where it
/// ends better: the baseline's steps over those after which it is as good as the baseline's end.
/// Where it does not: the steps after which the baseline is as good as its end, over its steps (at
/// most 1). Empty if that cannot be told: a last error is not finite, nothing was bought, the error
/// to reach was already there before anything was bought, or `active` ends above the baseline with
/// so few steps that the baseline needs more for that error.
std::optional<double> data_efficiency(const LearningCurve& baseline, const LearningCurve& active);

/// What a study costs. Sizes in solver steps; seconds per solver step, but `select` per round.
struct CostTerms {
  double initial = 0, budget = 0, rounds = 0;  ///< D, B, R
  double efficiency = 1;                       ///< E > 0
  double acquire = 0, train = 0, select = 0;   ///< Ta, Tt, Ts
};
/// Both sides of B R Ta + (D + B R) Tt > (B R / E) Ta + sum_{r=0..n} (D + B r) Tt + n Ts, where n =
/// R / E rounded to whole rounds, at least 1. The left side trains once, at the end.
struct CostVerdict {
  double baseline_seconds = 0, active_seconds = 0;
  double active_rounds = 0;  ///< n
  /// Above this Ta the inequality holds, the rest being as it is; 0: always, infinite: never.
  double turning_acquire = 0;
  bool pays() const { return baseline_seconds > active_seconds; }
  /// Both sides within 5 %: as of errors, less is no difference.
  bool even() const { return std::abs(baseline_seconds / active_seconds - 1.0) <= 0.05; }
};
/// Throws Error(config) unless E is above 0 and finite.
CostVerdict judge_cost(const CostTerms& terms);

}  // namespace stap
