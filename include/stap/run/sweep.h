#pragma once

#include <filesystem>
#include <vector>

#include "stap/core/observer.h"
#include "stap/run/loop.h"
#include "stap/study/axes.h"

namespace stap {

/// Opens the runs (each in `folder`/name; in `folder` itself if the name is empty) and drives them
/// to their end, as run_loop() does. Pool and test set are made once for all runs that share them.
/// Queries that fail leave their bundles in `folder`/failures.
LoopEnd drive(const std::vector<SweepRun>& runs, const std::filesystem::path& folder, int threads,
              Observer& observer, const StopAsked& stop, ByHand* by_hand = nullptr);

/// The runs that a folder holds: the run it is, or those of the sweep it is, in their order. Throws
/// Error(data) if it is neither.
std::vector<SweepRun> runs_in(const std::filesystem::path& folder);

}  // namespace stap
