#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/data/store.h"
#include "stap/eval/calibration.h"
#include "stap/eval/coverage.h"
#include "stap/folder/run_records.h"
#include "stap/nn/compute.h"
#include "stap/results/activation_map.h"
#include "stap/results/chosen_steps.h"
#include "stap/results/cost_analysis.h"
#include "stap/results/parameter_analysis.h"
#include "stap/results/run_result.h"
#include "stap/results/text_style.h"

// What a run's folder says about how and why a method worked. docs/internals/analyses.md defines
// every number and the files that hold them.
namespace stap {

struct AnalysisOptions {
  ComputeOptions compute{};
  int threads = 0;                         ///< 0 = all
  std::string baseline = "random";         ///< the method that others are compared with
  std::optional<double> efficiency{};      ///< E, in place of what the runs say
  std::optional<double> solver_seconds{};  ///< per solver step, in their place
};

/// Seconds by phase: train, evaluate, select, score, choose, acquire, initial (stap/run/run.h).
/// What was not recorded is not there.
using PhaseSeconds = std::map<std::string, double>;

struct RunAnalysis {
  RunResult result;  ///< configuration, method, seed, errors
  std::size_t committee_round = 0, members = 0;
  std::size_t steps_per_transition = 1;  ///< k of a surrogate that makes k steps at once
  StateInfo states{};                    ///< of the problem
  ChosenSteps chosen{};
  ActivationMap activations{};
  std::vector<double> training_sizes{};  ///< transitions that were trained on, by round
  std::vector<double> paid_steps{};   ///< solver steps until then, with warm-ups that were charged
  std::vector<PhaseSeconds> times{};  ///< by round
  ParameterRows rows{};               ///< where parameters vary
  std::vector<ParameterAnalysis> parameters{};  ///< one for each
  std::optional<Calibration> calibration{};
  std::string calibration_absent{};
  /// Of networks that were calibrated: how well their error bars hold on the rest of the test set.
  std::optional<JudgedBars> bars{};
  CostSeconds seconds{};
  CostAnalysis cost{};
  /// Of a sweep's run that stands for its method: trajectories that are best, median and worst for
  /// all methods together.
  std::optional<RunExtracts> shared{};

  bool complete() const;
};

/// Analyses a run as far as it has come, with its newest committee. Only files are read, the test
/// set among them (stap/results/test_set.h); of a study that has none there are no errors, and no
/// activations and calibration. The folder may be in use. Throws Error(data) if it is no run, is
/// damaged, has no evaluation yet, or if its test set is not found.
RunAnalysis analyse_run(RunResult result, const AnalysisOptions& options);

inline constexpr const char* kAnalysisFormat = "analysis/2";  // analysis/1 had no checksums
/// analysis.json of a run's or a sweep's folder, also of analysis/1. Throws Error(data) if it is
/// damaged, of another format, or the analysis of another run.
config::Value read_analysis(const std::filesystem::path& folder);
/// The file analysis.h5 beside it, whole. Throws Error(data) if it is damaged.
std::filesystem::path analysis_arrays(const std::filesystem::path& folder,
                                      const config::Value& analysis);
/// analysis.json (format "analysis/2") as a value.
config::Value to_value(const RunAnalysis& analysis);
/// A few lines in plain words.
std::string analysis_text(const RunAnalysis& analysis, const TextStyle& style = {});
/// Puts analysis.h5 and analysis.json, in this order, into the run's folder. Throws Error(storage).
void write_analysis(const RunAnalysis& analysis);

}  // namespace stap
