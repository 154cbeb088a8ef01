// Pieces of a report.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stap/report/figures.h"
#include "stap/report/report.h"

namespace stap {

/// The runs of the given folders: `runs` and, of those that can be read, `results`, in the same
/// order. A run's `words` say why it cannot be. `read`: some that were read already.
void gather_runs(std::span<const std::filesystem::path> folders, std::span<const RunResult> read,
                 Report& report);

struct FoundCost {
  ReportCost cost;                            ///< without its baseline
  std::optional<std::size_t> baseline_run{};  ///< one of the baseline's, in Report::results
};
/// The cost of every run's method, from the sweeps' and runs' analyses, one for each of
/// report.results. Says in report.notes what is of an earlier state.
std::vector<std::optional<FoundCost>> gather_costs(std::span<const std::filesystem::path> folders,
                                                   Report& report);

/// Charts, rasters and trajectories of one problem, within what a page can hold: `share` of it is
/// this problem's.
void draw_problem(const ProblemMethods& methods, double share, ReportProblem& problem);

}  // namespace stap
