#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stap/acquire/plan.h"
#include "stap/results/run_result.h"

namespace stap {

/// Which steps were chosen. All rounds whose purchase is complete.
struct ChosenSteps {
  std::size_t steps = 0;                        ///< bits of a pattern
  std::vector<std::vector<Purchase>> rounds{};  ///< in the plans' order, further passes behind

  /// Share of the trajectories of round r (of all rounds without r) whose step i was chosen: [L].
  std::vector<double> frequency(std::optional<std::size_t> round = std::nullopt) const;
};

/// From the plans of a run's folder: those of all rounds that were trained after. Throws
/// Error(data).
ChosenSteps read_chosen_steps(const RunResult& run);

}  // namespace stap
