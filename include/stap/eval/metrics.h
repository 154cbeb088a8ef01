#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/committee.h"
#include "stap/core/observer.h"
#include "stap/core/states.h"
#include "stap/core/symmetry.h"

namespace stap {

/// Test trajectories [B, T, C, X...], T = k + L, as float rows: state t of trajectory b is row
/// b * T + t. Surrogates of k steps start from the first k states, others from the first.
struct TrajectoriesView {
  StatesView<const float> states;
  std::size_t times = 0;    ///< T
  std::size_t cluster = 1;  ///< k: the committee's states are clusters of k (stap/core/cluster.h)
  ConditionsView conditions{};  ///< of the trajectories' first states
  std::size_t count() const { return times == 0 ? 0 : states.count / times; }
  std::size_t steps() const { return times - cluster; }
};

/// Errors e of rollouts on test trajectories u. Of one trajectory and one model, over steps 1 .. L,
/// all channels and Nx grid points:
/// RMSE = sqrt(sum e^2 / (L Nx)), NRMSE = sqrt(sum e^2 / sum u^2), MAE = mean |e|. A rollout that
/// is not finite has infinite error, and so has every average over it; quantiles stay valid. A
/// trajectory that is zero everywhere has no NRMSE; where all are, the NRMSE is not a number.
struct Errors {
  double rmse = 0, nrmse = 0, mae = 0;              ///< mean over trajectories, then models
  double rmse_q50 = 0, rmse_q95 = 0, rmse_q99 = 0;  ///< quantiles over trajectories, then mean
  /// Of the RMSE: what another test set of as many trajectories would change, as a standard
  /// deviation; of the models' mean by trajectory. Infinite for one trajectory.
  double rmse_standard_error = 0;
  /// Step 1 .. L: mean over trajectories, then models, of sqrt(sum e^2 / Nx) of that step;
  /// infinite from the first step at which a rollout is not finite.
  std::vector<double> rmse_by_step{};
  /// RMSE and NRMSE of one channel each, means over trajectories, then models; written down where
  /// there are several.
  std::vector<double> rmse_by_channel{}, nrmse_by_channel{};
  std::size_t diverged = 0;  ///< (trajectory, model) pairs that are not finite

  bool operator==(const Errors&) const = default;
};

/// Errors of a committee: those of its members, each rolled out by itself, as the published tables
/// have them; and those of the mean model, rolled out step by step, which is what one deploys.
struct Metrics : Errors {
  std::size_t trajectories = 0, members = 0, steps = 0, points = 0;
  std::size_t cluster = 1;  ///< k; not written down, the configuration has it
  Errors mean_model{};
  /// RMSE of the mean model on each trajectory; for choosing extracts, not written down.
  std::vector<double> mean_model_by_trajectory{};

  /// An RMSE on the scale of the published tables, ||e||/(L-1): value * sqrt(L Nx) / (L - 1), with
  /// L/k clusters in the place of the last L where states are clusters of k
  /// (docs/reference/evaluation.md says how that is known). Infinite where there is one only: that
  /// scale has no meaning then.
  double to_published(double value) const;

  bool operator==(const Metrics&) const = default;
};

/// Rolls every member and the mean model out from every trajectory's first state or cluster.
/// Rows in blocks; results do not depend on
/// the block and the threads (0: all cores), bit for bit: sums are in double, over the grid, then
/// steps, then trajectories, then members. `images`: as of roll_out(). The observer, if any, hears
/// of phase "evaluate". Throws Error(data) unless there is at least one trajectory of at least two
/// times (or whole clusters), of the committee's grid, all of it finite.
Metrics evaluate(Committee& committee, const TrajectoriesView& test, std::size_t block = 256,
                 Observer* observer = nullptr, int threads = 1,
                 std::span<const StateMap> images = {});

/// The value below which `percent` of the values lie, linear between order statistics (position
/// percent/100 (n-1) of the sorted values). Infinite values sort last. Throws Error(internal) if
/// there are no values.
double quantile(std::vector<double> values, int percent);

/// A map with every field by its name, `rmse_published` and the quantiles' `..._published`;
/// `mean_model` is a map of its errors by the same names.
config::Value to_value(const Metrics& metrics);
/// One line of JSON without its line break: the members of `head` (a map or null: round, seed,
/// ...), then those of the metrics. What is not finite is null. Numbers have as few digits as read
/// back as the same number, so equal metrics give equal bytes.
std::string to_json_line(const Metrics& metrics, config::Value head = {});

}  // namespace stap
