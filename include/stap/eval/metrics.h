#pragma once

#include <cstddef>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/states.h"

namespace stap {

/// Test trajectories [B, T, C, X...], T = L + 1, as float rows: state t of trajectory b is row
/// b * T + t.
struct TrajectoriesView {
  StatesView<const float> states;
  std::size_t times = 0;  ///< T
  std::size_t count() const { return times == 0 ? 0 : states.count / times; }
  std::size_t steps() const { return times - 1; }
};

/// Errors of a committee's members (never of the mean prediction) on test trajectories, as
/// spec/method defines them. An average over a trajectory that diverged is infinite.
struct Metrics {
  std::size_t trajectories = 0, members = 0, steps = 0, points = 0;
  double rmse = 0, nrmse = 0, mae = 0;              ///< mean over trajectories, then members
  double rmse_q50 = 0, rmse_q95 = 0, rmse_q99 = 0;  ///< quantiles over trajectories, then mean
  std::vector<double> rmse_by_step;  ///< step 1 .. L: mean over trajectories, members
  std::size_t diverged = 0;          ///< (trajectory, member) pairs that are not finite

  /// rmse on the scale of the published tables, ||e||/(L-1): rmse * sqrt(L Nx) / (L - 1).
  double to_published(double value) const;
};

/// Rolls every member out from every trajectory's first state. `times` of the network's time input
/// run over [0, 1]. Rows in blocks; results do not depend on the block.
Metrics evaluate(Committee& committee, const TrajectoriesView& test, std::size_t block = 256);

}  // namespace stap
