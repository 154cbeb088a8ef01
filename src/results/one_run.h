#pragma once

#include <string>

#include "stap/results/run_analysis.h"
#include "stap/results/test_set.h"

namespace stap {

/// Test sets are the same for most runs of a sweep: the last one is kept.
class TestSets {
 public:
  /// Throws as find_test_set() does.
  const TestSet& of(const RunResult& run, const Grid& grid);

 private:
  std::string hash_;
  Grid grid_;
  RunTestSet last_;
};

/// Whether there is anything to analyse: an evaluation, or networks of a study that has none.
bool can_be_analysed(const RunResult& result);

/// Analyses a run that can be. Throws Error(data).
RunAnalysis analyse(RunResult result, const AnalysisOptions& options, TestSets& test_sets);

}  // namespace stap
