#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/observer.h"
#include "stap/results/cost_analysis.h"
#include "stap/results/run_analysis.h"

// The runs of a sweep, and its methods held against each other (docs/internals/analyses.md).
namespace stap {

/// E of one seed alone: how far the seeds agree.
struct SeedEfficiency {
  std::uint64_t seed = 0;
  std::optional<double> efficiency{};
};
/// The runs of one label (stap/results/run_result.h).
struct MethodAnalysis {
  std::string label, method;
  std::vector<std::size_t> runs;           ///< indices into SweepAnalysis::runs
  std::string baseline{};                  ///< its label; empty: there is none, or this is one
  std::size_t compared = 0;                ///< evaluations that E comes from
  ErrorsOf errors_of = ErrorsOf::members;  ///< whose errors: of the averaged model where measured
  std::vector<SeedEfficiency> by_seed{};   ///< seeds that the baseline has as well
  CostAnalysis cost{};
  std::string guess{};  ///< why the efficiency and all that follows is one (comparison.h)
};
struct SweepAnalysis {
  std::filesystem::path folder;
  std::vector<RunAnalysis> runs;
  std::vector<MethodAnalysis> methods;
  std::vector<std::string> left_out{};  ///< names of runs without an evaluation
};

/// All runs below a sweep's folder (read_results()), and each method against the baseline of the
/// same configuration. The observer hears of phase "analyse". Throws Error(data) if no run has an
/// evaluation yet, and as analyse_run() does.
SweepAnalysis analyse_sweep(const std::filesystem::path& folder, std::vector<RunResult> results,
                            const AnalysisOptions& options, Observer& observer);

/// The sweep's analysis.json (format "analysis/2") as a value.
config::Value to_value(const SweepAnalysis& analysis);
/// A few lines in plain words for every method.
std::string analysis_text(const SweepAnalysis& analysis, const TextStyle& style = {});
/// Writes every run's files, then analysis.json into the sweep's folder. Throws Error(storage).
void write_analysis(const SweepAnalysis& analysis);

}  // namespace stap
