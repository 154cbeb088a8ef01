// Rows of a training set as engines and evaluations want them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "stap/core/states.h"
#include "stap/core/symmetry.h"
#include "stap/data/transitions.h"
#include "stap/eval/metrics.h"
#include "stap/nn/engine.h"

namespace stap {

/// Those that networks are trained on.
struct BoughtRows {
  BoughtRows(const TransitionSet& set, std::span<const std::size_t> rows,
             const NetworkSpec& network, std::vector<StateMap> maps);
  TransitionsView view() const { return {inputs.view(), outputs.view(), told}; }

  States<float> inputs, outputs;
  std::vector<float> told;
  std::vector<StateMap> symmetries;
};

/// Trajectories of so many steps: `rows` has as many of each, one after the other; with one step,
/// every transition is a trajectory.
struct BoughtTrajectories {
  BoughtTrajectories(const TransitionSet& set, std::span<const std::size_t> rows,
                     std::size_t steps);
  TrajectoriesView view() const;

  std::size_t times, cluster;
  States<float> states;  ///< clusters
  Conditions conditions{};
};

/// What states and errors are counted in, by the initial trajectories that are not `left_out`.
struct DataUnits {
  Scaling scaling;
  std::vector<float> loss_factors;
};
DataUnits units_of(const TransitionSet& set, std::size_t steps, const FitOptions& train,
                   const NetworkSpec& network,
                   const std::function<bool(std::size_t candidate)>& left_out);

}  // namespace stap
