#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/observer.h"
#include "stap/run/loop.h"
#include "stap/run/presets.h"

namespace stap {

/// One axis of a sweep: a key and its values as written.
struct GridAxis {
  std::string key;
  std::vector<std::string> values;
};
/// "method=random,sbal+stap": commas inside brackets do not count. Throws Error(config).
GridAxis parse_axis(const std::string& text);

/// One run of a sweep.
struct SweepRun {
  std::string name;  ///< of its folder: "method=sbal+stap,seed=1"
  config::Value document;
};
/// Every combination, the last axis fastest.
std::vector<SweepRun> expand_grid(const config::Value& base, const std::vector<GridAxis>& axes);

/// Opens the runs (each in `folder`/name; in `folder` itself if the name is empty) and drives them
/// to their end. Pool and test set are made once for all runs that share them.
LoopEnd drive(const std::vector<SweepRun>& runs, const std::filesystem::path& folder, int threads,
              Observer& observer, const std::function<bool()>& stop);

}  // namespace stap
