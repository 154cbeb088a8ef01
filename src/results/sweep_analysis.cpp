#include "stap/results/sweep_analysis.h"

#include <algorithm>

#include <fmt/format.h>

#include "results/analysis_cost.h"
#include "results/one_run.h"
#include "stap/core/error.h"
#include "stap/results/comparison.h"

namespace stap {
namespace {

// Where the tables have a run: within a problem labels may be shorter.
struct TableRowOf {
  std::size_t table = 0;
  std::string label{};
};
std::vector<TableRowOf> rows_of(const std::vector<RunResult>& results,
                                const std::vector<ProblemTable>& tables) {
  std::vector<TableRowOf> rows(results.size());
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (const TableRow& row : tables[t].rows)
      for (const RunResult* run : row.runs)
        rows[static_cast<std::size_t>(run - results.data())] = {t, row.label};
  return rows;
}

}  // namespace

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
  const std::vector<ProblemTable> tables = make_tables(results);
  const std::vector<TableRowOf> rows = rows_of(results, tables);
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
  for (const ProblemTable& table : tables) {
    std::vector<RunAnalysis*> shown;  // the first that is finished of each method
    for (const TableRow& row : table.rows) {
      const auto of = [&](const RunResult* run) {
        return &sweep.runs[static_cast<std::size_t>(run - results.data())];
      };
      const auto complete = [&](const RunResult* run) { return of(run)->result.complete(); };
      const auto found = std::ranges::find_if(row.runs, complete);
      shown.push_back(of(found == row.runs.end() ? row.runs.front() : *found));
    }
    share_extracts(shown, options, test_sets);
  }
  for (MethodAnalysis& method : sweep.methods) {
    const auto baseline = std::ranges::find(sweep.methods, method.baseline, &MethodAnalysis::label);
    if (baseline == sweep.methods.end() || !method.cost.efficiency) continue;
    const TableRowOf &mine = rows[method.runs[0]], &its = rows[baseline->runs[0]];
    if (mine.table == its.table)
      method.guess = guess_text(tables[mine.table], mine.label, its.label, method.baseline);
  }
  return sweep;
}

}  // namespace stap
