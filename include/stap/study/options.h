#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "stap/acquire/passes.h"
#include "stap/config/fields.h"

namespace stap {

/// Sizes and seeds of a study.
struct StudyOptions {
  enum class Keep { last, all };
  enum class Distances { scaled, physical };

  std::size_t steps = 13;       ///< L
  std::size_t cluster = 1;      ///< k: states that a network takes and gives at once
  std::size_t pool = 10000;     ///< initial conditions to choose from; 0: all of the file
  std::size_t test = 1000;      ///< test trajectories; 0: none, or all of the file
  std::size_t initial = 32;     ///< full trajectories to start with, from the pool
  std::size_t rounds = 10;      ///< R: acquisitions; there are R + 1 trainings
  std::size_t budget = 104;     ///< solver steps a round
  int members = 2;              ///< M
  std::uint64_t data_seed = 0;  ///< pool and test set
  std::uint64_t seed = 0;       ///< everything else
  int checkpoint_epochs = 10;   ///< a killed run repeats at most these
  Keep keep_committees = Keep::last;
  bool warm_start = false;  ///< a round's networks start from those of the round before
  OnUnstable on_unstable = OnUnstable::drop;
  bool charge_failed = true;    ///< a query that fails costs a step
  bool charge_warm_up = false;  ///< the budget also pays for the warm-ups of what is chosen
  double trust_quantile = 0.0;  ///< of the trust band; 0: no band
  double validation = 0.0;      ///< share of the bought candidates that is never trained on
  std::size_t stages = 1;       ///< of a round's training, at most; more need `validation`
  bool images = false;          ///< rounds are measured over images, too
  /// What selection counts distances of states in: their channels' deviations, or their own units.
  Distances distances = Distances::scaled;

  /// A bit of a pattern stands for k solver steps: how many bits a trajectory has, and how many a
  /// round may buy.
  std::size_t pattern_steps() const { return steps / cluster; }
  std::size_t pattern_budget() const { return budget / cluster; }
};

const config::Fields<StudyOptions>& study_fields();

/// Of `initial: {name: file, ...}` and `test: {name: file, ...}`.
struct FileOptions {
  std::filesystem::path path;  ///< absolute
};
const config::Fields<FileOptions>& file_fields();

}  // namespace stap
