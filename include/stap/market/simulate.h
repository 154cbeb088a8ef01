#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "stap/config/value.h"
#include "stap/core/committee.h"
#include "stap/core/observer.h"
#include "stap/core/parameters.h"
#include "stap/core/solver.h"
#include "stap/core/states.h"
#include "stap/core/stop.h"
#include "stap/data/store.h"
#include "stap/eval/error_bars.h"

namespace stap {

/// How a surrogate and its solver share the steps of trajectories.
struct SimulationRules {
  enum class How {
    tolerance,  ///< the surrogate while its error bar is within the tolerance (HybridTurns)
    share,      ///< so many steps of the solver, where they help most (place_solver_steps())
    verify,     ///< the surrogate drafts, the solver checks all steps of a draft at once
  };
  enum class Placing { planned, even, random };

  How how = How::tolerance;
  std::size_t steps = 0;   ///< L of each trajectory
  double tolerance = 0.0;  ///< of verify: for single steps
  double share = 0.0;      ///< of the steps; rounded, at least one
  Placing placing = Placing::planned;
  std::uint64_t seed = 0;             ///< of random ones
  std::size_t draft = 0;              ///< of verify: steps at most
  bool anywhere = false;              ///< inputs are states from anywhere in a trajectory
  std::optional<std::size_t> most{};  ///< solver steps in all, the same number for each trajectory
};

struct SimulationRequest {
  SimulationRules rules;
  States<double> initial{};
  RowParameters parameters{};       ///< of each row, as networks are told them
  std::optional<ErrorBars> bars{};  ///< of the networks; for a tolerance
  config::Value about{};            ///< what the results depend on besides: networks, solver
};

/// What `stap simulate` has done.
struct Simulated {
  bool finished = false;      ///< false: stopped; the same call goes on
  std::size_t paid = 0;       ///< steps the solver was asked for and made or failed
  std::size_t by_solver = 0;  ///< states of the trajectories that are its
  std::size_t failed = 0, refused = 0;
  std::size_t beyond = 0;  ///< trajectories that are not within the tolerance
  std::string trouble{};   ///< the first refusal or failure
  double seconds = 0.0;    ///< wall-clock, all calls together
};

/// The most steps that the solver may be asked for.
std::size_t most_solver_steps(const SimulationRules& rules, std::size_t trajectories);

/// Makes trajectories in a folder, whatever happens in between:
///
///   config.yaml      the request (format simulation/1)
///   simulation.h5    the trajectories, who made each step, predicted errors, costs
///   transitions.h5   every answer of the solver, for a later run (`first:`); none without answers
///   journal.jsonl    every answer, before it is used; the ledger
///   answers.bin      their states
///
/// simulation.h5 and transitions.h5 carry no times and depend on no order of answers, so that a
/// call that was killed anywhere and made again ends with the same bytes. Equal questions are
/// recorded by (trajectory, step), of verify by (trajectory, number of the question). A trajectory
/// whose solver refuses or fails is finished by the surrogate and marked. `info`: what states are.
/// Throws as generate() does; before there is a folder, Error(config) for rules that cannot be,
/// more than the memory holds, or networks that do not fit the solver, and Error(data) for input
/// that is not finite; and Error(config) for a solver that answers by hand, once it is asked.
Simulated simulate(const SimulationRequest& request, Committee& committee,
                   std::shared_ptr<const Solver> solver, const StateInfo& info,
                   const std::filesystem::path& folder, Observer& observer, const StopAsked& stop);

}  // namespace stap
