#pragma once

#include <filesystem>
#include <vector>

#include "stap/core/observer.h"
#include "stap/run/loop.h"
#include "stap/study/axes.h"

namespace stap {

struct Study;

/// Which of the runs one process drives, and how far.
struct Share {
  Until until = Until::finished;
  std::size_t shard = 0, shards = 1;  ///< run k belongs to shard k mod `shards`

  bool has(std::size_t run) const { return run % shards == shard; }
};

/// Their configurations, read: each once for all that a command does with it. Throws Error(config).
std::vector<Study> read_runs(const std::vector<SweepRun>& runs, Until until = Until::finished);

/// Opens the runs (each in `folder`/name; in `folder` itself if the name is empty) and drives them
/// to their end, as run_loop() does. Pool and test set are made once for all runs that share them.
/// Queries that fail leave their bundles in `folder`/failures. `runs` are those of the whole sweep,
/// the same for all its shards, which may be driven at the same time and on different machines.
/// Until::bought computes on the CPU, whatever the configuration says; Until::trained asks no
/// solver that is not ours, so runs whose data are not made yet wait. Throws Error(config) also for
/// a shard of another sweep than the folder's.
LoopEnd drive(const std::vector<SweepRun>& runs, const std::filesystem::path& folder, int threads,
              Observer& observer, const StopAsked& stop, ByHand* by_hand = nullptr,
              const Share& share = {});
/// The same of runs whose configurations were read, one a run.
LoopEnd drive(const std::vector<SweepRun>& runs, std::vector<Study> studies,
              const std::filesystem::path& folder, int threads, Observer& observer,
              const StopAsked& stop, ByHand* by_hand = nullptr, const Share& share = {});

}  // namespace stap
