#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stap/report/report.h"
#include "support/table_results.h"

namespace stap::test {

/// A report of these runs, without files behind it.
inline Report report_of(std::vector<RunResult> results) {
  Report report;
  report.folders = {"somewhere/my-sweep"};
  report.results = std::move(results);
  for (const RunResult& result : report.results)
    report.runs.push_back(
        {.folder = "run", .state = ReportRun::State::finished, .seed = result.seed});
  for (const ProblemTable& table : make_tables(report.results)) {
    ReportProblem problem{.table = table, .methods = {}};
    for (const TableRow& row : table.rows) {
      problem.methods.push_back({.label = row.label, .method = row.method});
      problem.methods.back().initial_steps = 40;
      problem.methods.back().solver_steps = 1240;
    }
    report.problems.push_back(std::move(problem));
  }
  return report;
}

/// `differences`: of the second method to the first, by seed.
inline std::vector<RunResult> two_methods(const std::vector<double>& differences) {
  std::vector<RunResult> results;
  for (std::size_t seed = 0; seed < differences.size(); ++seed) {
    const double level = 0.1 * static_cast<double>(seed) - 2.0;
    results.push_back(result("random", seed, {level, level}));
    results.push_back(result("sbal", seed, {level + differences[seed], level + differences[seed]}));
  }
  return results;
}

inline std::string words(const Report& report) {
  std::string text;
  for (const Finding& finding : findings(report)) text += finding.text + "\n";
  return text;
}

}  // namespace stap::test
