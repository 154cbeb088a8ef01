#pragma once

#include <span>
#include <string>

#include "stap/eval/metrics.h"
#include "stap/folder/model_of.h"
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

/// A run's test set in the precision of networks.
struct TestRows {
  States<float> states;
  std::size_t times = 0, cluster = 1;
  RowParameters parameters{};

  TrajectoriesView view() const {
    return {states.view(), times, cluster, conditions_of(parameters)};
  }
};
TestRows test_rows(const RunResult& run, const Surrogate& surrogate, TestSets& test_sets);

/// Whether there is anything to analyse: an evaluation, or networks of a study that has none.
bool can_be_analysed(const RunResult& result);

/// Analyses a run that can be. Throws Error(data).
RunAnalysis analyse(RunResult result, const AnalysisOptions& options, TestSets& test_sets);
/// Fills in `shared` of runs of one problem, one for each method; of fewer than two nothing.
void share_extracts(std::span<RunAnalysis* const> runs, const AnalysisOptions& options,
                    TestSets& test_sets);

}  // namespace stap
