#pragma once

#include <string_view>

namespace stap::config {

/// What a key of a configuration affects: the first of these, and so what follows from it. The rows
/// of field tables say it, and everything that must tell keys apart (what a run is, names of cached
/// data, what runs of a sweep share, labels) is a projection of it (affecting(), study.h).
enum class Affects {
  problem,   ///< what is learned: the equation, its initial conditions, the steps of a trajectory
  data,      ///< which pool there is, and which transitions to begin with
  test,      ///< which trajectories errors are measured on
  source,    ///< what its section does, by a file or program: what comes of it counts, as a hash
  training,  ///< networks, from round 0 on
  seed,      ///< likewise; such runs repeat each other
  method,    ///< what is bought after round 0; the name of the method says it
  later,     ///< likewise, and how networks of later rounds begin
  rounds,    ///< how many rounds there are, which may become more
  record,    ///< what else is measured, and what is kept
  device,    ///< at most the last bits of what networks do
  solver,    ///< how a solver of the user's own makes a step
  machine,   ///< nothing that is computed: places, patience, numbers of processes
};

/// "problem", "data", ...
std::string_view to_string(Affects affects);

}  // namespace stap::config
