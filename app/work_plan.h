#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "commands.h"

namespace stap::app {

/// What runs amount to before they begin.
struct WorkPlan {
  std::size_t runs = 0;
  std::size_t bought = 0;        ///< solver steps of all runs
  std::size_t test = 0;          ///< of the test sets, once for all runs that share one
  std::size_t warm_ups = 0;      ///< states of pools and test sets that need one; also once
  std::size_t warm_up = 0;       ///< steps of all these warm-ups
  std::size_t unspent = 0;       ///< of the budgets of all runs: their pools have no more
  std::size_t disk = 0;          ///< bytes, about
  double row_epochs = 0.0;       ///< rows of training sets, summed over all trainings of a stage
  std::set<std::string> data{};  ///< keys of the pools and test sets
};
/// Adds a run; nothing if it is not complete.
void add_to_plan(const Study& study, WorkPlan& plan);
/// Of the user's own, as far as the configuration says what it is.
bool asks_own_solver(const Study& study);
/// Seconds of all trainings by what the first study's networks take here, which is measured unless
/// it is known, and then kept for commands to come. None: it cannot be measured.
std::optional<double> training_seconds(const WorkPlan& plan, const Study& first,
                                       const Globals& globals);
/// "9 runs, ...": for people.
std::string plan_text(const WorkPlan& plan, const std::optional<double>& training);

}  // namespace stap::app
