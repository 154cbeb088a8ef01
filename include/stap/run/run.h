#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/rng.h"
#include "stap/data/transitions.h"
#include "stap/folder/run_folder.h"
#include "stap/journal/answer_log.h"
#include "stap/market/problem.h"
#include "stap/nn/engine.h"
#include "stap/study/study.h"

namespace stap {

/// One study of one seed and method: its configuration, its folder, and how far it has come. All
/// that is in here can be read from the folder again; what is not there yet is done again.
struct Run {
  enum class Phase { initial, train, evaluate, acquire, done };

  Study study;
  RunFolder folder;
  std::shared_ptr<const Problem> problem;
  NetworkSpec network;
  AnswerLog answers;  ///< every answer of the solver, on disk before it is used
  TransitionSet transitions;
  std::string data{};  ///< digest() of the training set of this round
  Scaling scaling;
  std::vector<float> loss_factors{};  ///< FitJob::loss_factors; none: of physical errors, 1 each
  bool other_device = false;          ///< begun on another device or with another instruction set
  std::vector<char> used;             ///< per pool id: chosen once, gone for good
  std::size_t evaluated = 0;          ///< rounds that have a line in metrics.jsonl
  std::size_t round = 0;
  Phase phase = Phase::initial;
  std::vector<MemberState> members;  ///< of this round, as far as they are trained
  std::size_t stage = 0;  ///< of this round's training; once that is over, the one that is kept
  std::vector<double> stage_errors{};  ///< on what is held back, after each stage that is over
  int epochs_before = 0;               ///< of stages before this one
  int epochs_done = 0;
  int epochs = 0;  ///< of this stage, in all

  /// Random streams of this round; keys hold ids only, so equal seeds share round 0.
  Rng stream(std::string_view purpose) const;
  /// Whether a candidate's transitions are kept out of training, for validation.
  bool held_back(std::size_t candidate) const;
};

/// Opens a folder for a study: starts it, or goes on where it stopped. Nothing is bought yet. With
/// `only_buys` nothing will be trained here: the device that trains is another's business.
/// Throws Error(config) if the problem's sizes, grid or dt are not the study's, or, with the
/// differences, if the folder belongs to another configuration; Error(data) for another problem,
/// another format or damaged files; Error(storage).
Run open_run(Study study, std::filesystem::path folder, std::shared_ptr<const Problem> problem,
             Observer& observer, bool only_buys = false);

/// Mean and deviation per channel over all states of the initial trajectories in a training set,
/// of patterns of `steps` bits; those of candidates that are `left_out`, and masked points, do
/// not count. All states of
/// a cluster have those of their channel. A channel that does not vary gets the deviation 1; with
/// the loss `scaled`, if its mean is not 0, the size of that, and it does not vary if single
/// precision does not see it. Throws Error(internal) if there are no such states.
Scaling initial_scaling(const TransitionSet& set, std::size_t steps,
                        const std::function<bool(std::size_t candidate)>& left_out = {},
                        FitOptions::Loss loss = FitOptions::Loss::scaled,
                        const FixedFields* fixed = nullptr);

/// Root mean squares of the changes over a step per channel, of the same transitions.
std::vector<double> initial_changes(const TransitionSet& set,
                                    const std::function<bool(std::size_t candidate)>& left_out = {},
                                    const FixedFields* fixed = nullptr);

/// FitJob::loss_factors: the root of each channel's weight, over what it is counted in where the
/// loss is scaled. That is its deviation, or its change over a step where a network predicts that
/// (`changes`; else empty), but at least a tenth of what others change, all relative to their
/// deviations: what hardly changes must not outweigh all else.
std::vector<float> loss_factors(const FitOptions& options, const Scaling& scaling,
                                std::span<const double> changes);

}  // namespace stap
