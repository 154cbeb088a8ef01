// What to do about what `stap solver check` has found.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stap/study/study.h"
#include "stap/trial/solver_check.h"

namespace stap {

/// What the advice is about, beside what was found.
struct AdviceFacts {
  std::string kind;  ///< of the solver: command, worker
  std::size_t slots = 1, steps_at_once = 1;
  std::size_t cores = 1;                                  ///< of this machine
  std::size_t initial_steps = 0, budget = 0, rounds = 0;  ///< solver steps; 0 rounds: no method
  std::optional<double> training{};  ///< seconds per step in the training set; empty: not known.
                                     ///< Of one stage: all of them take 2^stages - 1 times that
  std::size_t stages = 1;            ///< that a round's training may have
  std::string room{};                ///< what the job has room for; empty: there is no launcher
  bool symmetries = false;           ///< whether the study states any
};
/// Of a study whose solver is not ours; without the training.
AdviceFacts advice_facts(const Study& study);
/// Seconds of training per row of the training set, for all epochs of a stage and all members: an
/// epoch is measured, on data that mean nothing. Throws Error(unavailable) as make_engine does.
double measure_training(const Study& study, int threads);
/// Epochs of a training in the middle of a study's rounds: those that measure_training() counts.
int epochs_of_middle_round(const Study& study);

/// Sentences: command or worker, how many slots, several steps a call, symmetries, does active
/// learning pay.
/// None if no step was made.
std::vector<std::string> solver_advice(const SolverCheck& check, const AdviceFacts& facts);

}  // namespace stap
