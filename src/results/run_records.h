// The files of a run's folder that are looked at after the run, each read in one place. The folder
// may be in use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/results/chosen_steps.h"
#include "stap/results/run_analysis.h"

namespace stap {

/// config.yaml without its format. Throws Error(data) unless that is run/1 or run/2.
config::Value read_run_config(const std::filesystem::path& folder);
/// manifest.json. Throws Error(data).
config::Value read_manifest(const std::filesystem::path& folder);

/// A line of a file of JSON lines.
struct RecordLine {
  config::Value value;          ///< a map
  std::filesystem::path place;  ///< "run/metrics.jsonl:3", for messages
};
/// metrics.jsonl; no lines if there is no such file. Throws Error(data).
std::vector<RecordLine> read_metrics(const std::filesystem::path& folder);

/// timings.jsonl of the first `rounds` rounds. A line that a kill has cut off is left out.
std::vector<PhaseSeconds> read_times(const std::filesystem::path& folder, std::size_t rounds);

/// rounds/NN/plan.json, plan-2.json, ... of the first `rounds` rounds. Throws Error(data).
ChosenSteps read_chosen(const std::filesystem::path& folder, std::size_t rounds, std::size_t pool,
                        std::size_t steps);

/// The journal's answers of the solver.
struct AnswerTotals {
  double seconds = 0;         ///< of all of them
  std::size_t delivered = 0;  ///< how many were ok
};
/// Throws Error(data).
AnswerTotals read_answers(const std::filesystem::path& folder);

}  // namespace stap
