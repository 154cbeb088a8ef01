#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "commands.h"
#include "stap/config/value.h"
#include "stap/study/study.h"

namespace stap::app {

/// Runs whose networks are trained alike.
struct NetworkPlan {
  Study study;              ///< the first of them
  double row_epochs = 0.0;  ///< rows of training sets, summed over all trainings of a stage
  std::optional<double> step_seconds{};  ///< of a training step of all members; none: not known
};

/// What runs amount to before they begin.
struct WorkPlan {
  std::size_t runs = 0;
  std::size_t bought = 0;    ///< solver steps of all runs
  std::size_t test = 0;      ///< of the test sets, once for all runs that share one
  std::size_t warm_ups = 0;  ///< states of pools and test sets that need one; also once
  std::size_t warm_up = 0;   ///< steps of all these warm-ups
  std::size_t unspent = 0;   ///< of the budgets of all runs: their pools have no more
  std::size_t disk = 0;      ///< bytes, about
  std::vector<NetworkPlan> networks{};
  std::set<std::string> data{};  ///< keys of the pools and test sets
};
/// Adds a run; nothing if it is not complete.
void add_to_plan(const Study& study, WorkPlan& plan);
/// Of the user's own, as far as the configuration says what it is.
bool asks_own_solver(const Study& study);
/// Seconds of all trainings by what networks take here, which is measured unless it is known, and
/// then kept for commands to come; says in the plan what steps take. None: it cannot be measured.
std::optional<double> training_seconds(WorkPlan& plan, int threads);
/// Of one training step of all members of a study, likewise.
std::optional<double> training_step_seconds(const Study& study, int threads);
/// "network fno: ..." for every network of a plan whose training_seconds() were asked for.
std::vector<std::string> network_texts(const WorkPlan& plan, int threads);
config::Value networks_json(const WorkPlan& plan, int threads);
/// "2.1 ms".
std::string milliseconds_text(double seconds);
/// "7 kB".
std::string bytes_text(double bytes);
/// "9 runs, ...": for people.
std::string plan_text(const WorkPlan& plan, const std::optional<double>& training);

}  // namespace stap::app
