// What analyses say about costs, where they exist.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "report/gather.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/results/run_analysis.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::list_at;
using config::number_at;
using config::text_at;
using config::Value;

ReportCost cost_of(const Value& cost) {
  const auto known = [&](const char* key) {
    const Value* value = cost.find(key);
    return value != nullptr ? value->real() : std::nullopt;
  };
  ReportCost result;
  CostAnalysis& c = result.cost;
  c.terms = cost_terms(cost);
  c.efficiency = known("efficiency");
  c.efficiency_with_warm_ups = known("efficiency_with_warm_ups");
  c.text = text_at(cost, "verdict");
  if (const auto active = known("active_seconds"))
    c.verdict = CostVerdict{
        .baseline_seconds = number_at(cost, "baseline_seconds"),
        .active_seconds = *active,
        .active_rounds = number_at(cost, "active_rounds"),
        // Null beside a verdict: it never pays.
        .turning_acquire =
            known("turning_seconds_per_step").value_or(std::numeric_limits<double>::infinity())};
  for (const Value& one : list_at(cost, "efficiency_by_seed")) {
    const Value* efficiency = one.find("efficiency");
    result.efficiency_by_seed.push_back(efficiency != nullptr ? efficiency->real() : std::nullopt);
  }
  return result;
}

Value cost_in(const Value& analysis) {
  const Value* cost = analysis.find("cost");
  return cost != nullptr ? *cost : Value();
}

// An analysis.json; null where there is none, or none that can be read, which is said.
Value cost_analysis_in(const fs::path& folder, Report& report) {
  std::error_code error;
  if (!fs::exists(folder / "analysis.json", error)) return {};
  try {
    return read_analysis(folder);
  } catch (const Error& damage) {
    report.notes.push_back(fmt::format("The cost analysis is not shown: {}.", damage.what()));
    return {};
  }
}

std::string earlier_text(const fs::path& folder) {
  return fmt::format(
      "The cost analysis of {0} is of an earlier state of its runs and not shown: stap analyse {0}",
      folder.string());
}

// By label, as a sweep's analysis names its methods: among all runs that could be analysed.
struct SweepRuns {
  std::vector<std::size_t> indices{};  // into the results
  std::vector<std::string> names{}, labels{};
};

SweepRuns runs_below(const fs::path& folder, const std::vector<RunResult>& results) {
  SweepRuns runs;
  std::vector<const RunResult*> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunResult& run = results[i];
    if (run.folder.parent_path() != folder) continue;
    if (run.evaluated() == 0 && !run.test_sha256.empty()) continue;
    runs.indices.push_back(i);
    runs.names.push_back(run.folder.filename().string());
    all.push_back(&run);
  }
  runs.labels = labels(all);
  return runs;
}

// Whether it is about the runs as they are now.
bool is_of(const Value& analysis, const SweepRuns& runs, const std::vector<RunResult>& results) {
  if (config::texts_in(analysis.find("runs")) != runs.names) return false;
  for (const Value& method : list_at(analysis, "methods")) {
    std::size_t incomplete = 0;
    for (std::size_t i = 0; i < runs.labels.size(); ++i)
      if (const RunResult& run = results[runs.indices[i]];
          runs.labels[i] == text_at(method, "label"))
        incomplete += run.complete() || run.without_errors() ? 0 : 1;
    if (number_at(method, "incomplete") < static_cast<double>(incomplete)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::optional<FoundCost>> gather_costs(std::span<const fs::path> folders,
                                                   Report& report) {
  std::vector<std::optional<FoundCost>> costs(report.results.size());
  for (const fs::path& folder : folders) {
    const SweepRuns runs = runs_below(folder, report.results);
    if (runs.indices.empty()) continue;
    const Value analysis = cost_analysis_in(folder, report);
    if (analysis.is_null()) continue;
    if (!is_of(analysis, runs, report.results)) {
      report.notes.push_back(earlier_text(folder));
      continue;
    }
    for (const Value& method : list_at(analysis, "methods")) {
      FoundCost found{cost_of(cost_in(method))};
      for (std::size_t i = 0; i < runs.labels.size(); ++i)
        if (runs.labels[i] == text_at(method, "cost.baseline"))
          found.baseline_run = runs.indices[i];
      for (std::size_t i = 0; i < runs.labels.size(); ++i)
        if (runs.labels[i] == text_at(method, "label")) costs[runs.indices[i]] = found;
    }
  }
  // A run that was given by itself has no baseline, but its seconds are known.
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const RunResult& run = report.results[i];
    if (costs[i] || std::ranges::find(folders, run.folder) == folders.end()) continue;
    const Value analysis = cost_analysis_in(run.folder, report);
    if (analysis.is_null()) continue;
    if (number_at(analysis, "evaluated") == static_cast<double>(run.evaluated()))
      costs[i] = FoundCost{cost_of(cost_in(analysis))};
    else
      report.notes.push_back(earlier_text(run.folder));
  }
  return costs;
}

}  // namespace stap
