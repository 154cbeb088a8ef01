#pragma once

// Networks tried on what a run has bought: trained on a part of its candidates, judged on the rest.
// No solver is asked.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/rng.h"
#include "stap/core/stop.h"
#include "stap/data/transitions.h"
#include "stap/eval/metrics.h"
#include "stap/nn/network.h"
#include "stap/study/study.h"

namespace stap {

/// Rows of a training set, as one trial uses them. No candidate is on both sides.
struct TrialSplit {
  std::vector<std::size_t> training, held_back;
  /// Those held back whose trajectory is whole: `steps` rows of each, in the order of its steps.
  std::vector<std::size_t> whole;
};
/// `repeats` times `folds` splits, each candidate held back once per repeat. Candidates whose
/// trajectory of `steps` steps is whole are spread evenly, and so are the others. Which fold a
/// candidate is in depends on its number and those of the others, not on the order of the rows.
/// Throws Error(config) where that leaves a split without an initial trajectory to train on, or
/// without anything to hold back.
std::vector<TrialSplit> trial_splits(const TransitionSet& set, std::size_t steps, std::size_t folds,
                                     std::size_t repeats, const Rng& rng);

/// Of the averaged model on what a split holds back.
struct TrialErrors {
  double single = 0.0;            ///< of single steps
  std::optional<double> rollout;  ///< of rollouts of whole trajectories; none: there are none
};
/// One network on all splits.
struct NetworkTrial {
  std::vector<TrialErrors> errors;
  double training_seconds = 0.0;  ///< of one committee
  double step_seconds = 0.0;      ///< of a step of the averaged model, per state
};
/// Trains `study.options.members` fresh networks per split, as `study` trains those of a round (its
/// first stage), and measures them. Errors are root mean squares, mean over trajectories: in units
/// of `deviations`, one per channel of a state, then over channels; where these are empty, all
/// channels together as they are. They depend on neither threads nor the device's load, bit for
/// bit; infinite where a model left the numbers. The observer hears of the epochs of all splits, in
/// the phase `name`. Throws Stopped when `stop` says so.
NetworkTrial try_network(const Study& study, const NetworkSpec& network, const TransitionSet& set,
                         std::span<const TrialSplit> splits, std::span<const double> deviations,
                         std::string_view name, Observer& observer, int threads,
                         const StopAsked& stop);

/// The deviations of the channels of the initial trajectories, where the study's loss counts errors
/// in them; else none.
std::vector<double> trial_deviations(const Study& study, const TransitionSet& set,
                                     const NetworkSpec& network);

}  // namespace stap
