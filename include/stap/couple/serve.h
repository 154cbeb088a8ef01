#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/stop.h"

namespace stap {

/// How to serve a spool folder.
struct ServeOptions {
  std::filesystem::path folder{};
  std::size_t slots = 0;                ///< queries at the same time; 0: as the configuration says
  double seconds = 0.0;                 ///< that it may run; 0: for ever
  double idle = 0.0;                    ///< it ends after so many without a query; 0: never
  std::vector<std::string> settings{};  ///< "solver.scratch=PLACE", for this machine
  bool trust_folder = false;            ///< whoever owns it, or may write in it
};

/// What became of it.
struct Served {
  enum class End { stopped, time, idle };

  End end = End::stopped;
  std::string name{};          ///< of the server
  std::size_t answered = 0;    ///< queries, those that failed among them
  std::size_t failed = 0;      ///< of them
  std::size_t given_back = 0;  ///< not finished when it ended: for others
  std::size_t in_vain = 0;     ///< not wanted any more, or given to others because it was silent
  double seconds = 0.0, busy_seconds = 0.0;  ///< of its life, of its slots; all slots count
};

/// Fetches queries that a run has put into the folder (option `spool` of its solver), runs them in
/// slots of this machine and leaves the answers there. Any number of processes may do so, come and
/// go; each query is answered by one of them. An empty folder is waited for.
///
/// The folder names the program that is started. So it, spool.json, `problems` and the files there
/// must be ours or root's, and group and others must not be able to write in them: otherwise
/// Error(config), unless the folder is trusted. A problem that is damaged waits until the run has
/// written it again.
///
/// Asked to stop it begins nothing new and waits for what runs; asked to stop now, or out of time,
/// it gives back what is not finished. No query is begun that usually takes longer than is left.
///
/// Throws Error(data) for what is no spool folder, Error(config) for a solver that cannot be
/// started on this machine, Error(solver) if too many queries fail, and Error(storage).
Served serve(const ServeOptions& options, Observer& observer, const StopAsked& stop);

}  // namespace stap
