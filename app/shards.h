// Parts of a sweep: one process each, on several machines or on the devices of one.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "study_end.h"

namespace stap::app {

/// "2/6", or "auto": the task of a Slurm array; empty: all. Sets shard and shards. Throws
/// Error(config).
void read_shard(const std::string& text, Share& share);

/// Starts this program once for each device, with a shard of the runs each, and waits for all of
/// them. Signals are handed on; should this process be killed, they end as by SIGTERM. Says how it
/// ended as report_end() does.
void sweep_on_devices(const std::vector<SweepRun>& runs, const Task& task, const Globals& globals,
                      Console& console, std::ostream& out);

}  // namespace stap::app
