#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/states.h"
#include "stap/eval/metrics.h"

namespace stap {

/// How far members disagree, and how far they are off, at every step of every test trajectory:
/// arrays [B, L]. With u the truth, u_m the members' own rollouts, v their mean and Nx points:
/// spread = sqrt((1/M) sum_m |u_m - v|^2 / Nx), mean_error = sqrt(|v - u|^2 / Nx), member_error =
/// sqrt((1/M) sum_m |u_m - u|^2 / Nx). So member_error^2 = spread^2 + mean_error^2. All three are
/// infinite from the first step on at which a member is not finite.
struct Calibration {
  std::size_t trajectories = 0, steps = 0;
  std::vector<double> spread{}, mean_error{}, member_error{};
};
/// Rolls all members out. A committee whose states are k times as large as the test states takes
/// and gives clusters of k consecutive ones: T = k + L then. Rows in blocks; the result does not
/// depend on the block. Throws Error(data) unless the sizes fit and there is at least one step.
Calibration calibrate(Committee& committee, const TrajectoriesView& test, std::size_t block = 64);

/// Pairs of equally many, by spread: the means of a bin.
struct CalibrationBin {
  std::size_t count = 0;
  double spread = 0, mean_error = 0, member_error = 0;
};
/// All finite pairs, sorted by spread (equal ones by position) and cut into `bins` parts of sizes
/// that differ by one at most; empty parts are left out.
std::vector<CalibrationBin> quantile_bins(const Calibration& calibration, std::size_t bins);

/// rank_correlation() of spread and error over finite pairs, of all steps and of each.
struct RankCorrelations {
  double overall = 0;
  std::vector<double> by_step;  ///< [L]
};
/// `error`: one of the arrays of `calibration`.
RankCorrelations rank_correlations(const Calibration& calibration,
                                   const std::vector<double>& error);

/// (trajectory, step) pairs that are not finite.
std::size_t diverged(const Calibration& calibration);

}  // namespace stap
