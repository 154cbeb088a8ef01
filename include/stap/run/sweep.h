#pragma once

#include <filesystem>
#include <vector>

#include "stap/core/observer.h"
#include "stap/run/loop.h"
#include "stap/study/axes.h"

namespace stap {

/// Opens the runs (each in `folder`/name; in `folder` itself if the name is empty) and drives them
/// to their end. Pool and test set are made once for all runs that share them.
LoopEnd drive(const std::vector<SweepRun>& runs, const std::filesystem::path& folder, int threads,
              Observer& observer, const StopAsked& stop);

}  // namespace stap
