#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/acquire/chooser.h"
#include "stap/acquire/passes.h"
#include "stap/acquire/selector.h"
#include "stap/config/family.h"
#include "stap/core/solver.h"
#include "stap/nn/compute.h"
#include "stap/nn/fno.h"
#include "stap/nn/options.h"

namespace stap {

/// Sizes and seeds of a study.
struct StudyOptions {
  enum class Keep { last, all };

  std::size_t steps = 13;       ///< L
  std::size_t cluster = 1;      ///< k: states that a network takes and gives at once
  std::size_t pool = 10000;     ///< initial conditions to choose from
  std::size_t test = 1000;      ///< test trajectories
  std::size_t initial = 32;     ///< full trajectories to start with, from the pool
  std::size_t rounds = 10;      ///< R: acquisitions; there are R + 1 trainings
  std::size_t budget = 104;     ///< solver steps a round
  int members = 2;              ///< M
  std::uint64_t data_seed = 0;  ///< pool and test set
  std::uint64_t seed = 0;       ///< everything else
  int checkpoint_epochs = 10;   ///< a killed run repeats at most these
  Keep keep_committees = Keep::last;
  OnUnstable on_unstable = OnUnstable::drop;
  bool charge_failed = true;    ///< a query that fails costs a step
  double trust_quantile = 0.0;  ///< of the trust band; 0: no band

  /// A bit of a pattern stands for k solver steps: how many bits a trajectory has, and how many a
  /// round may buy.
  std::size_t pattern_steps() const { return steps / cluster; }
  std::size_t pattern_budget() const { return budget / cluster; }
};

const config::Fields<StudyOptions>& study_fields();

/// Every section of a study's configuration: pde, initial, network, train, study, base, steps,
/// compute.
std::span<const config::Family> study_families();

/// `method: sbal+stap` or `sbal(exponent=2)+stap(proposals=10)` written out as the sections base
/// and steps (`full` where there is no +); what a document without `method` says stays. Throws
/// Error(config).
void expand_method(config::Value& document);
/// The shorthand of a document's base and steps, options that are not the default included.
std::string method_text(const config::Value& effective);

/// What one section's table cannot know: whether the sections of an effective document fit.
void check_together(const config::Value& effective, config::Complaints& complaints);

/// A complete, checked configuration.
struct Study {
  config::Value effective;  ///< the whole document, every field with its value
  StudyOptions options;
  FnoOptions network;
  FitOptions train;
  ComputeOptions compute;
};

/// Throws Error(config) with all complaints. pde, initial and a method must be given.
Study make_study(config::Value document);

std::unique_ptr<Solver> make_solver(const Study& study, int threads);
/// With the right-hand side of the study's equation where the method needs it. `threads`: of that.
std::unique_ptr<Selector> make_selector(const Study& study, int threads);
std::unique_ptr<StepChooser> make_chooser(const Study& study);

/// "study.seed: 0 here, 1 there" for every field in which two documents differ.
std::vector<std::string> differences(const config::Value& here, const config::Value& there);

}  // namespace stap
