#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/folder/manifest.h"
#include "stap/results/metric.h"
#include "stap/results/round_stages.h"

// What a run's folder says about its errors. Only its files are read: no solver is made and nothing
// is computed again.
namespace stap {

struct Study;

/// Errors by evaluation; infinite where a rollout diverged.
struct RunErrors {
  std::array<std::vector<double>, kMetrics> values;  ///< by metric, as in metrics.jsonl
  std::array<std::vector<double>, kMetrics> logs;    ///< their natural logarithms
  std::vector<std::vector<double>> rmse_by_step;     ///< of steps 1 .. L
  /// RMSE and NRMSE of each channel; empty where there is one, or it was not measured yet.
  std::vector<std::vector<double>> rmse_by_channel, nrmse_by_channel;
  std::vector<std::size_t> diverged;  ///< rollouts that were not finite
  /// Of the RMSE, over test trajectories; empty in runs from before it was measured.
  std::vector<double> standard_errors;

  const std::vector<double>& values_of(Metric metric) const {
    return values[static_cast<std::size_t>(metric)];
  }
  const std::vector<double>& logs_of(Metric metric) const {
    return logs[static_cast<std::size_t>(metric)];
  }
  std::size_t diverged_total() const;
  /// Mean of the logarithms over the evaluations.
  double headline(Metric metric) const;
};

struct RunResult {
  std::filesystem::path folder;
  config::Value config;                  ///< every field with its value, without the format
  std::shared_ptr<const Study> study{};  ///< the same, read; null in one that was not read
  Manifest manifest;                     ///< where it was run, and what its problem is
  std::string method;
  std::uint64_t seed = 0;
  std::size_t rounds = 0;  ///< planned
  std::size_t steps = 0, cluster = 1;
  std::string test_sha256;                 ///< of its test set; empty: the study has none
  std::size_t points = 0;                  ///< of the grid; 0: nothing was evaluated
  std::size_t trajectories = 0;            ///< it was evaluated on
  bool validation = false;                 ///< measured on what was held back, step by step
  std::vector<std::size_t> measured;       ///< rounds, by evaluation: all but where nothing was
  std::size_t rounds_done = 0;             ///< measured or not
  std::vector<std::uint64_t> transitions;  ///< in the training set, by evaluation
  /// The same: trajectories of which something was bought, and the learned steps of their warm-ups.
  /// Empty in runs from before they were counted; the steps also where initial conditions come from
  /// a file.
  std::vector<std::uint64_t> candidates, warm_up_steps;
  bool charge_warm_up = false;      ///< the budget pays for these, too
  std::vector<RoundStages> stages;  ///< of rounds that say something of them, measured or not
  RunErrors members;
  RunErrors mean_model;                 ///< empty in runs from before it was measured
  RunErrors images, mean_model_images;  ///< empty without study.images

  const RunErrors& of(ErrorsOf whose) const;
  /// Bought up to an evaluation, the initial trajectories included.
  std::uint64_t solver_steps(std::size_t evaluation) const {
    return transitions[evaluation] * cluster;
  }
  /// Warm-ups of what was chosen until then: what a budget pays for where they are charged, which
  /// those of the initial trajectories are not. 0 where it is not known.
  std::uint64_t chosen_warm_ups(std::size_t evaluation) const {
    return warm_up_steps.empty() ? 0 : warm_up_steps[evaluation] - warm_up_steps[0];
  }
  std::size_t evaluated() const { return members.logs[0].size(); }
  bool complete() const {
    return evaluated() > 0 && std::max(evaluated(), rounds_done) == rounds + 1;
  }
  /// Of the same run under two names the one with more of it counts: a finished one before one that
  /// is not, then one that was measured over images, too. 0 to kMostTold.
  static constexpr int kMostTold = 3;
  int told() const { return (complete() ? 2 : 0) + (images.logs[0].empty() ? 0 : 1); }
  /// There are none, and none will come.
  bool without_errors() const { return test_sha256.empty() && evaluated() == 0; }
};

/// Reads one run's folder. Throws Error(data).
RunResult read_result(const std::filesystem::path& folder);
/// Every run's folder below a sweep's (or the folder itself), in the order of the sweep: those that
/// have a configuration. Throws Error(data) if there is none.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& folder);
/// The runs in them. Throws Error(data), also if one is damaged.
std::vector<RunResult> read_results(const std::filesystem::path& folder);

/// What tells the groups of a sweep apart, for each run: its method, and every key but the seed
/// that is not the same in all of them.
std::vector<std::string> labels(const std::vector<const RunResult*>& results);

}  // namespace stap
