#pragma once

#include <memory>
#include <optional>

#include "stap/core/observer.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"
#include "stap/data/transitions.h"
#include "stap/study/data_files.h"
#include "stap/study/identity.h"
#include "stap/study/study.h"

namespace stap {

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
