#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "stap/config/value.h"
#include "stap/eval/error_bars.h"

namespace stap {

/// How often bars hold, [kinds, steps]: the share of rollouts within theirs, and the medians of
/// bars and errors (of a band, of the root mean square of its half widths; it has no error).
struct Coverage {
  std::vector<double> found{}, bar{}, error{};
};
/// Bars on trajectories they were not calibrated on.
struct JudgedBars {
  double level = 0;
  std::size_t calibrated_on = 0, judged_on = 0, left_out = 0;
  std::size_t channels = 1, steps = 0;
  Coverage first{}, any{};
  /// Shares outside of which the coverage of new trajectories of the same kind lies once in 1,000
  /// times: the beta-binomial law of rollouts from first states.
  double least = 0, most = 1;
  /// Shares within the bar of all channels, from first states, means over steps, for the third of
  /// the trajectories with the narrowest bars, the middle one and the widest. Nothing is promised
  /// for them. Empty for fewer than three trajectories.
  std::vector<double> thirds{};
  std::string absent{};  ///< why there is nothing to say; empty: there is

  /// Steps (0-based) at which bars of this kind hold for fewer than `least`.
  std::vector<std::size_t> failing(const Coverage& coverage, std::size_t kind) const;
};
/// Of trajectories that share no state with those of the calibration; the others are left out.
JudgedBars judge_bars(const ErrorBars& bars, Committee& committee, const TrajectoriesView& test,
                      Observer* observer = nullptr);
/// Of such trials; those of more or fewer steps are judged as far as both go.
JudgedBars judge_bars(const ErrorBars& bars, const BarTrials& trials);
config::Value to_value(const JudgedBars& judged);
/// "bars are too narrow at steps 1, 2 and 5: ..."; empty where they hold.
std::string coverage_warning(const JudgedBars& judged);

/// Least and most of `judged` trajectories that are within bars of a level calibrated on
/// `calibrated` of the same kind, but for once in 1,000 times: the number is beta-binomial with
/// a = ceil((calibrated + 1) level), b = calibrated + 1 - a.
std::pair<std::size_t, std::size_t> coverage_range(std::size_t calibrated, double level,
                                                   std::size_t judged);

}  // namespace stap
