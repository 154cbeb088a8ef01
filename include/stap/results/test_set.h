#pragma once

#include <filesystem>

#include "stap/core/grid.h"
#include "stap/results/run_result.h"
#include "stap/study/data_files.h"

namespace stap {

/// The test set that a run was evaluated with.
struct RunTestSet {
  std::filesystem::path file;  ///< where it is
  TestSet set;                 ///< [test, k + L, C, X...]
};

/// Finds a run's test set by its hash: in the file that the manifest names (`test_file`, absolute
/// or relative to the run's folder), else in the cache. It is never computed. `grid`: of its
/// states. Throws Error(data) if the study has none, if it is not found (with the command that
/// makes it), and if what is found has another hash.
RunTestSet find_test_set(const RunResult& run, const Grid& grid);

}  // namespace stap
