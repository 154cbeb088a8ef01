#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "stap/acquire/plan.h"
#include "stap/core/observer.h"
#include "stap/data/transitions.h"
#include "stap/nn/engine.h"
#include "stap/run/claim.h"
#include "stap/run/study.h"
#include "stap/run/study_data.h"

namespace stap {

/// One study of one seed and method: its configuration, its folder, and how far it has come. All
/// that is in here can be read from the folder again; what is not there yet is done again.
struct Run {
  enum class Phase { train, evaluate, acquire, done };

  Study study;
  RunFolder folder;
  FnoShape shape;
  AnswerLog log;
  std::size_t ledgers = 0;  ///< in the journal
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

  /// Random streams of this round; keys hold ids only, so equal seeds share round 0.
  Rng stream(std::string_view purpose) const;
};

/// Opens a folder for a study: starts it, or goes on where it stopped. Throws Error(config), with
/// the differences, if the folder belongs to another configuration; Error(data) for another format
/// or damaged files; Error(storage). Buys the initial trajectories if they are not there yet.
Run open_run(Study study, std::filesystem::path folder, std::shared_ptr<const StudyData> data,
             std::shared_ptr<const Solver> solver, Observer& observer);

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
