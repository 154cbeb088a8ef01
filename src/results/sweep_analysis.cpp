#include "stap/results/sweep_analysis.h"

#include <algorithm>

#include <fmt/format.h>

#include "results/analysis_cost.h"
#include "results/one_run.h"
#include "stap/core/error.h"

namespace stap {

SweepAnalysis analyse_sweep(const std::filesystem::path& folder, std::vector<RunResult> results,
                            const AnalysisOptions& options, Observer& observer) {
  SweepAnalysis sweep{.folder = folder, .runs = {}, .methods = {}};
  std::erase_if(results, [&](const RunResult& result) {
    if (!can_be_analysed(result)) sweep.left_out.push_back(result.folder.filename().string());
    return !can_be_analysed(result);
  });
  if (results.empty())
    throw Error(ErrorKind::data, fmt::format("no run in {} has an evaluation yet: let one finish "
                                             "its first round",
                                             folder.string()));
  std::vector<const RunResult*> all;
  for (const RunResult& result : results) all.push_back(&result);
  const std::vector<std::string> names = labels(all);
  TestSets test_sets;
  for (std::size_t i = 0; i < results.size(); ++i) {
    observer.progress({.phase = "analyse", .done = i, .total = results.size()});
    sweep.runs.push_back(analyse(std::move(results[i]), options, test_sets));
    auto method = std::ranges::find(sweep.methods, names[i], &MethodAnalysis::label);
    if (method == sweep.methods.end())
      method =
          sweep.methods.insert(sweep.methods.end(), {names[i], sweep.runs[i].result.method, {}});
    method->runs.push_back(i);
  }
  observer.progress({.phase = "analyse", .done = sweep.runs.size(), .total = sweep.runs.size()});
  judge_methods(sweep, options);
  return sweep;
}

}  // namespace stap
