#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stap/config/fields.h"

namespace stap {

/// Bounds on what a program may take. What is beyond is ended and fails.
struct SolverLimits {
  double seconds = 0.0;   ///< of one call; 0: none until 8 answers are known, then automatic
  double factor = 5.0;    ///< automatic: this times the median of the answers' seconds,
  double least = 60.0;    ///< but at least these seconds
  double start = 120.0;   ///< seconds for a worker to come up
  double launch = 900.0;  ///< seconds without room for a launcher until a query fails of it
  double silence = 0.0;  ///< seconds without a sign of a worker that sends heartbeats; 0: automatic
  double server = 60.0;  ///< seconds without a sign of a server of a spool
  double output = 4e9;   ///< bytes of one file that it writes, its log included
  std::size_t files = 10000;  ///< that it may leave in its folder
};

/// How a solver that is not ours is reached, whatever the kind: no part of a study, so a run may be
/// continued with other values.
struct SolverOptions {
  enum class OnFailure { skip, retry, abort };

  config::Arguments argv;         ///< the program and its arguments; see solver_table.h
  config::Arguments launch;       ///< what comes before it: words, or the name of a preset alone
  std::size_t ranks = 1;          ///< of a slot, for the launcher
  std::size_t nodes = 1;          ///< that they are spread over
  std::string memory;             ///< of a node, as the launcher takes it; empty: not said
  std::filesystem::path hosts;    ///< a file of hosts; empty: as the scheduler says
  std::vector<std::string> env;   ///< "NAME=value", added to the environment
  std::size_t slots = 1;          ///< queries at the same time; 0 ("auto"): see slots_of()
  std::size_t steps_at_once = 1;  ///< the most steps that are one call
  std::filesystem::path spool;    ///< a folder that servers fetch queries from; empty: run here
  std::filesystem::path scratch;  ///< where its folders are made; empty: the system's
  OnFailure on_failure = OnFailure::retry;
  std::size_t retries = 1;         ///< of a query that crashed, with on_failure: retry
  bool breaker = true;             ///< many failures end the run
  double stragglers = 0.0;         ///< share of a round's queries that may be given back
  double grace = 10.0;             ///< seconds between SIGTERM and SIGKILL
  std::size_t failures_kept = 20;  ///< bundles of failed queries, at most
  SolverLimits limits;
};

const config::Fields<SolverLimits>& solver_limits_fields();

/// `slots`, or as many as the allocation of this job holds: Slurm's, PBS's, that of the host file,
/// else this machine. Throws Error(config) if it holds none.
std::size_t slots_of(const SolverOptions& options);
/// The same of a section `solver`, as it is written.
std::size_t slots_of(const config::Value& section);

}  // namespace stap
