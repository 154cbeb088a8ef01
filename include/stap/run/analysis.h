#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stap/acquire/plan.h"
#include "stap/core/observer.h"
#include "stap/data/transitions.h"
#include "stap/eval/calibration.h"
#include "stap/eval/cost.h"
#include "stap/eval/principal.h"
#include "stap/nn/compute.h"
#include "stap/run/table.h"

// What run folders say about how and why a method worked. docs/analyses.md defines every number and
// the files that hold them.
namespace stap {

struct AnalysisOptions {
  ComputeOptions compute{};
  int threads = 0;                         ///< 0 = all
  std::string baseline = "random";         ///< the method that others are compared with
  std::optional<double> efficiency{};      ///< E, in place of what the runs say
  std::optional<double> solver_seconds{};  ///< per solver step, likewise
};

/// Which steps were chosen. All rounds whose purchase is complete.
struct ChosenSteps {
  std::size_t steps = 0;                        ///< bits of a pattern
  std::vector<std::vector<Purchase>> rounds{};  ///< in the plans' order, further passes behind

  /// Share of the trajectories of round r (of all rounds without r) whose step i was chosen: [L].
  std::vector<double> frequency(std::optional<std::size_t> round = std::nullopt) const;
};

/// Principal directions of the committee's sketched hidden activations on states of test
/// trajectories, and where these and the inputs of all bought transitions lie along them.
struct ActivationMap {
  PrincipalComponents components{};
  std::size_t trajectories = 0;  ///< the first ones of the test set
  std::size_t states_each = 0;
  std::vector<double> full{};                     ///< [trajectories * states_each, K]
  std::vector<double> bought{};                   ///< [n, K]
  std::vector<Provenance> origins{};              ///< [n]; acquisition 0: initial trajectories
  double full_variance = 0, bought_variance = 0;  ///< of the features; bought: acquisitions >= 1
  std::string absent{};                           ///< why there is none; empty if there is
};

/// Seconds by phase: train, evaluate, select, score, choose, acquire, initial (stap/run/run.h).
/// What was not recorded is not there.
using PhaseSeconds = std::map<std::string, double>;

/// Learning curves, one value per evaluation; infinite where a rollout diverged.
struct ErrorCurves {
  std::vector<double> transitions{}, rmse{};
  std::vector<std::vector<double>> rmse_by_step{};
};

/// Seconds that the inequality of the cost analysis asks for; NaN where they are not known.
struct CostSeconds {
  double acquire = 0, train = 0, select = 0;
};
/// Cost terms, verdict, and what to say about them.
struct CostAnalysis {
  CostTerms terms{};
  std::optional<double> efficiency{};  ///< empty: not known, and no verdict
  std::optional<CostVerdict> verdict{};
  std::string text{};
};

struct RunAnalysis {
  RunResult result;  ///< configuration, method, seed
  std::size_t evaluated = 0;
  std::size_t committee_round = 0, members = 0;
  std::size_t steps_per_transition = 1;  ///< k of a surrogate that makes k steps at once
  ChosenSteps chosen{};
  ActivationMap activations{};
  std::vector<PhaseSeconds> times{};  ///< by round
  ErrorCurves errors{};
  std::optional<Calibration> calibration{};
  std::string calibration_absent{};
  CostSeconds seconds{};
  CostAnalysis cost{};
};

/// E of one seed alone: how far the seeds agree.
struct SeedEfficiency {
  std::uint64_t seed = 0;
  std::optional<double> efficiency{};
};
/// The runs of one label (stap/run/table.h).
struct MethodAnalysis {
  std::string label, method;
  std::vector<std::size_t> runs;          ///< indices into SweepAnalysis::runs
  std::string baseline{};                 ///< its label; empty: there is none, or this is one
  std::size_t compared = 0;               ///< evaluations that E comes from
  std::vector<SeedEfficiency> by_seed{};  ///< seeds that the baseline has as well
  CostAnalysis cost{};
};
struct SweepAnalysis {
  std::filesystem::path folder;
  std::vector<RunAnalysis> runs;
  std::vector<MethodAnalysis> methods;
  std::vector<std::string> left_out{};  ///< names of runs without an evaluation
};

/// Analyses a run as far as it has come, with its newest committee. The folder may be in use.
/// Throws Error(data) if it is no run, is damaged or has no evaluation yet.
RunAnalysis analyse_run(const std::filesystem::path& folder, const AnalysisOptions& options,
                        Observer& observer);
/// All runs below a sweep's folder, and each method against the baseline of the same configuration.
SweepAnalysis analyse_sweep(const std::filesystem::path& folder, const AnalysisOptions& options,
                            Observer& observer);

/// analysis.json (format "analysis/1") as a value.
config::Value to_value(const RunAnalysis& analysis);
config::Value to_value(const SweepAnalysis& analysis);
/// A few lines in plain words.
std::string analysis_text(const RunAnalysis& analysis);
std::string analysis_text(const SweepAnalysis& analysis);
/// Puts analysis.h5 and analysis.json, in this order, into the run's folder, and for a sweep into
/// that of every run and a summary into its own. Throws Error(storage).
void write_analysis(const RunAnalysis& analysis);
void write_analysis(const SweepAnalysis& analysis);

}  // namespace stap
