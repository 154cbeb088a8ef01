// How a run moves from phase to phase. Every function leaves the folder in a state that means the
// phase it leaves the run in.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "stap/acquire/plan.h"
#include "stap/core/committee.h"
#include "stap/eval/metrics.h"
#include "stap/run/run.h"

namespace stap {

/// The initial trajectories: full ones, of ids drawn uniformly from the pool.
Plan initial_plan(const StudyOptions& options);

/// Rows of the training set that networks are trained on: all but those of candidates that are held
/// back for validation.
std::vector<std::size_t> training_rows(const Run& run);

/// Puts into the run what its round's training is at: networks that are on disk, finished or half
/// trained, or those that it starts from. Throws Error(data) for files that do not fit.
void load_training(Run& run);
/// Begins the round behind the last purchase: finished, half-trained or fresh members, and the
/// phase they are in. Throws Error(solver) if there is nothing to train on.
void begin_round(Run& run);
/// The run's members as a file of them says what they are.
Model trained_model(const Run& run);
/// Puts members and progress on disk, as the round's committee when all epochs are done, and moves
/// the phase on then.
void save_training(Run& run);
/// What selection multiplies channels with (study.distances); none: 1 each.
std::vector<double> distance_factors(const Run& run);
/// Errors of single steps on what is held back; none if nothing is.
std::optional<Metrics> on_held_back(const Run& run, Committee& committee);
/// Evaluates the committee, adds the line to metrics.jsonl, keeps extracts, and moves the phase on.
/// `test` has the states of the problem's test set, if it has one.
void evaluate_round(Run& run, Committee& committee, StatesView<const float> test, int threads);

/// Once a round is evaluated: removes the networks of those before it, unless they are to be kept.
void drop_old_networks(const Run& run);

/// Does the work and writes its seconds down.
template <class Work>
auto timed(const Run& run, std::string_view phase, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  run.folder.add_timing({run.round, std::string(phase), seconds.count()});
  return result;
}

}  // namespace stap
