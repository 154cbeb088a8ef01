#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "stap/acquire/plan.h"
#include "stap/core/observer.h"
#include "stap/data/transitions.h"
#include "stap/journal/journal.h"
#include "stap/nn/engine.h"
#include "stap/run/study_data.h"
#include "stap/study/study.h"

namespace stap {

/// One study of one seed and method: its configuration, its folder, and how far it has come. All
/// that is in here can be read from the folder again; what is not there yet is done again.
///
///   config.yaml          the effective configuration (format run/1)
///   manifest.json        version, machine, hashes of pool and test set
///   journal.jsonl        every answer of the solver, before it is used
///   transitions.h5       the training set, replaced after every acquisition
///   metrics.jsonl        one line per round; no times in it
///   timings.jsonl        seconds by phase
///   rounds/NN/           plan.json (plan-2.json, ... of further passes), committee.safetensors
///                        (training.safetensors while it trains)
struct Run {
  enum class Phase { train, evaluate, acquire, done };

  Study study;
  std::filesystem::path folder;
  FnoShape shape;
  Journal journal;
  std::shared_ptr<const StudyData> data;
  std::shared_ptr<const Solver> solver;
  TransitionSet transitions;
  Scaling scaling;
  std::vector<char> used;            ///< per pool id: chosen once, gone for good
  std::vector<std::string> metrics;  ///< lines of metrics.jsonl
  std::size_t round = 0;
  Phase phase = Phase::train;
  std::vector<MemberState> members;  ///< of this round, as far as they are trained
  int epochs_done = 0;

  std::filesystem::path round_folder() const;
  /// Random streams of this round; keys hold ids only, so equal seeds share round 0.
  Rng stream(std::string_view purpose) const;
};

/// Opens a folder for a study: starts it, or goes on where it stopped. Throws Error(config), with
/// the differences, if the folder belongs to another configuration; Error(data) for another format
/// or damaged files; Error(storage). Buys the initial trajectories if they are not there yet.
Run open_run(Study study, std::filesystem::path folder, std::shared_ptr<const StudyData> data,
             std::shared_ptr<const Solver> solver, Observer& observer);

/// A plan of rounds/NN. Throws Error(data) if it is damaged, or if its candidates or patterns do
/// not fit a pool and trajectories of these sizes.
Plan read_plan(const std::filesystem::path& path, std::size_t pool, std::size_t steps);

/// Seconds by phase, appended to timings.jsonl.
void add_timing(const Run& run, std::string_view phase, double seconds);

/// Writes members and progress as rounds/NN/training.safetensors, or, when all epochs are done, as
/// committee.safetensors, and moves the phase on.
void save_training(Run& run);
/// Evaluates the committee on the test set, adds the line to metrics.jsonl and moves the phase on.
void evaluate_round(Run& run, Committee& committee);
/// Plans (or reads the plan) and buys, in one pass or several; appends, and begins the next round.
/// `threads`: of the selector.
void acquire_round(Run& run, Committee& committee, int threads, Observer& observer);

}  // namespace stap
