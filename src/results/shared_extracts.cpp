// The same test trajectories of every method of a sweep.
#include <cmath>

#include "results/one_run.h"
#include "stap/core/cluster.h"
#include "stap/eval/extracts.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"

namespace stap {
namespace {

// What the runs of one problem need until the trajectories are known.
struct Shown {
  RunAnalysis* run;
  Surrogate surrogate;
  std::vector<double> errors{};  // of the averaged model, by trajectory
};

}  // namespace

TestRows test_rows(const RunResult& run, const Surrogate& surrogate, TestSets& test_sets) {
  const Grid grid = frame_grid(surrogate.grid(), surrogate.cluster);
  const TestSet& exact = test_sets.of(run, grid);
  TestRows rows{States<float>(grid, exact.states.count()), exact.times, surrogate.cluster};
  convert(exact.states.values(), rows.states.values());
  rows.parameters = exact.parameters;
  return rows;
}

void share_extracts(std::span<RunAnalysis* const> runs, const AnalysisOptions& options,
                    TestSets& test_sets) {
  std::vector<Shown> all;
  for (RunAnalysis* run : runs)
    if (run->result.evaluated() > 0 && !run->result.test_sha256.empty() &&
        run->result.test_sha256 == runs.front()->result.test_sha256)
      all.push_back({run, load_surrogate(RunFolder(run->result.folder).newest_committee().path,
                                         options.compute, options.threads)});
  if (all.size() < 2) return;
  Metrics together;  // hard is what is hard for all of them
  for (Shown& one : all) {
    const TestRows rows = test_rows(one.run->result, one.surrogate, test_sets);
    one.errors = evaluate(*one.surrogate.committee, rows.view(), 256, nullptr, options.threads)
                     .mean_model_by_trajectory;
    std::vector<double>& sum = together.mean_model_by_trajectory;
    sum.resize(one.errors.size());
    for (std::size_t b = 0; b < sum.size(); ++b) sum[b] += std::log(one.errors[b]);
  }
  for (Shown& one : all) {
    const TestRows rows = test_rows(one.run->result, one.surrogate, test_sets);
    RunExtracts extracts{one.run->committee_round,
                         take_extracts(*one.surrogate.committee, rows.view(), together),
                         one.run->states};
    extracts.extracts.calibration = {};
    for (Extract& extract : extracts.extracts.rollouts)
      extract.rmse = one.errors[extract.trajectory];
    one.run->shared = std::move(extracts);
  }
}

}  // namespace stap
