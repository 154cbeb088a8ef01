// What studies will ask of a solver of the user's own, before they ask.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/study/study.h"

namespace stap {

/// One thing that is bought.
struct SpendingPart {
  std::string name;            ///< "warm-up", "test set", "initial trajectories", "rounds"
  std::string text;            ///< "5 trajectories of 4 steps"
  std::size_t steps = 0;       ///< learned steps, all together
  std::size_t calls_most = 0;  ///< of the solver, where steps_at_once is above 1 maybe fewer
};

/// Of all runs that have one solver.
struct ExpectedSpending {
  std::string problem;    ///< its label
  std::size_t first = 0;  ///< index of the first study that asks it
  std::size_t runs = 0;   ///< that buy
  std::size_t slots = 1;  ///< of the solver
  bool program = true;    ///< it can be called at any time, so it can be checked
  std::vector<SpendingPart> parts;
  std::size_t cached_steps =
      0;  ///< of a warm-up and a test set that are made already: not in parts
  std::size_t answered_steps = 0;                ///< of parts, those that the journals have
  std::optional<double> training_seconds = 0.0;  ///< of all runs; empty: not known

  std::size_t steps() const;
  std::size_t calls_most() const;
};

/// One for each solver of the studies that is not ours, in the order in which they come; none for
/// built-in equations. Data that several runs share count once. `journals`: of run folders that may
/// be continued; one that is not there, or cannot be read, counts nothing.
std::vector<ExpectedSpending> expected_spending(
    std::span<const Study> studies, std::span<const std::filesystem::path> journals = {});

/// Seconds of one learned step, where they were measured.
struct StepSeconds {
  double seconds = 0.0;     ///< median
  std::size_t answers = 0;  ///< of which
  std::string source;       ///< "answers of the run", "answers for the test set", "solver check"
  bool of_this_run =
      false;  ///< the first of these: where there are clusters, of one of their steps
};
/// From the answers in these journals, else those of the study's data while they are made, else
/// what keep_step_seconds() kept; empty: nobody knows.
std::optional<StepSeconds> known_step_seconds(const Study& study,
                                              std::span<const std::filesystem::path> journals = {});
/// Keeps a figure in the cache, under the problem's `pde` section and how its solver is reached;
/// nothing where there is no cache or it cannot be written.
void keep_step_seconds(const Study& study, const StepSeconds& measured);

/// For people: some lines, and a further one; and for programs.
std::string spending_text(const ExpectedSpending& spending,
                          const std::optional<StepSeconds>& seconds);
std::string training_text(const ExpectedSpending& spending);
config::Value to_value(const ExpectedSpending& spending, const std::optional<StepSeconds>& seconds);

}  // namespace stap
