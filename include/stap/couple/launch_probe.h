// What a launcher does to the programs behind it, tried with sh and cat instead of the solver.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stap/core/stop.h"
#include "stap/couple/solver_options.h"

namespace stap {

struct LaunchFinding {
  enum class Grade { good, doubtful, bad };

  std::string name;
  Grade grade = Grade::good;
  std::string text;  ///< one line, with advice where it is not good
};

struct LaunchToProbe {
  SolverOptions options{};
  bool streams = false;   ///< the program is asked through stdin and stdout
  bool files = false;     ///< and by files in options.scratch, which must be there on every host
  double patience = 8.0;  ///< seconds for one more to start, and for bytes to come back
};

/// Starts it about as often as there are slots, 32 at most, and ends what it started. Looks whether
///
///   hosts         the program (and options.scratch) is there on every host of the job
///   side by side  as many run at the same time as there are slots
///   streams       bytes come through its streams as they are, at once, and many of them
///
/// Nothing where options.launch is empty. Throws Stopped, and Error as make_..._solver does.
std::vector<LaunchFinding> probe_launcher(const LaunchToProbe& probed, const StopAsked& stop = {});

/// "4 hosts with 8 CPUs (SLURM_JOB_NODELIST) have room for 4 slots of 2 ranks on 1 node"; empty
/// where options.launch is empty. Throws Error(config).
std::string room_text(const SolverOptions& options);

}  // namespace stap
