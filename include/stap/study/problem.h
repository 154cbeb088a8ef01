#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/solver.h"
#include "stap/core/states.h"
#include "stap/core/stop.h"
#include "stap/study/data_files.h"
#include "stap/study/generate.h"
#include "stap/study/study.h"

namespace stap {

/// What a problem is, in words and as hashes. Every run keeps it, so that results can be looked at
/// without the problem, and another problem under the same folder is refused.
struct Identity {
  std::string name;                   ///< of the solver
  std::vector<std::string> channels;  ///< their names
  Grid grid;                          ///< of single states
  double dt = 0.0;                    ///< of one learned step
  std::size_t steps = 0;              ///< L of a trajectory
  std::size_t cluster = 1;            ///< k: states of an initial condition
  std::string pool_sha256;            ///< of the values as little-endian doubles
  std::string test_sha256;            ///< empty: there is no test set
  std::size_t test_trajectories = 0;
  std::string pool_file, test_file;  ///< where they were read; empty: they are in the cache
  std::string first_sha256{};        ///< of transitions there were before; empty: none
  std::string first_file{};
  std::string data_key;  ///< their name there; empty if nothing was made
};
config::Value to_value(const Identity& identity);
/// The way back; `where` is for messages. Throws Error(data) for what is missing or no problem.
Identity read_identity(const config::Value& value, const std::string& where);

/// All that a study needs and that is no choice of method. Runs of a sweep share it.
struct Problem {
  std::shared_ptr<const Solver> solver;  ///< of clusters where the study's networks take them
  Pool pool;
  std::optional<TestSet> test;
  Identity identity;
  /// Transitions that are in every training set from the beginning and cost nothing: of acquisition
  /// 0 and of candidates behind the pool. May be none.
  TransitionSet first{};
};

/// What must be made for a study: nothing of what comes from files.
DataRequest data_request(const Study& study);

/// Whether make_problem() would have nothing to make: all is in files or in the cache.
bool data_are_made(const Study& study);

/// The problem of a study: its equation, with pool and test set drawn and solved, or read from the
/// files it names. What is made goes to the cache; what is there already is read. Progress: phases
/// "pool" and "test set". `threads`: 0 = all. Throws Stopped when `stop` says so (what was solved
/// so far is kept, and the next call goes on), Error(config) for files or a warm-up that do not fit
/// the study, Error(data) for files that are missing or damaged, Error(numerics) naming the initial
/// condition or test trajectory that cannot be computed.
Problem make_problem(const Study& study, int threads, Observer& observer,
                     const StopAsked& stop = {});
/// The same for who only looks at a run or repairs it: no program is started that a configuration
/// names, neither solver nor sampler. Nobody answers for a solver of the user's own, and
/// Error(data) says so if pool or test set are not there that it, or a sampler of the user's, would
/// have to make.
Problem make_problem_alone(const Study& study, int threads, Observer& observer,
                           const StopAsked& stop = {});
/// As the first with a solver of the caller's own, of single steps, which the cache tells from
/// others by its name. Throws Error(config) if its grid or dt is not the study's.
Problem make_problem(const Study& study, std::shared_ptr<const Solver> solver, Observer& observer,
                     const StopAsked& stop = {});

}  // namespace stap
