#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/eval/statistics.h"

namespace stap {

/// What a run's folder says about its errors.
struct RunResult {
  std::filesystem::path folder;
  config::Value config;
  std::string method;
  std::uint64_t seed = 0;
  std::size_t rounds = 0;  ///< planned
  std::size_t steps = 0, points = 0;
  std::vector<double> log_rmse;  ///< natural logarithm, per evaluation; infinite if it diverged
  std::size_t diverged = 0;      ///< (trajectory, member, round) that were not finite

  bool complete() const { return log_rmse.size() == rounds + 1; }
  /// Mean over the evaluations.
  double headline() const;
};

/// Reads one run's folder. Throws Error(data).
RunResult read_result(const std::filesystem::path& folder);
/// Every run below a sweep's folder (or the folder itself), sorted by path. Throws Error(data) if
/// there is none.
std::vector<RunResult> read_results(const std::filesystem::path& folder);

/// What tells the groups of a sweep apart, for each run: its method, and every key but the seed
/// that is not the same in all of them.
std::vector<std::string> labels(const std::vector<RunResult>& results);

/// One line of a table: the seeds of one method.
struct TableRow {
  std::string label;  ///< the method, and what else differs within the sweep
  std::vector<std::uint64_t> seeds;
  Summary log_rmse;                   ///< of the headline, over seeds
  Summary log_rmse_published;         ///< the same on the scale of the published tables
  Summary difference;                 ///< to the first row, over the seeds that both have
  double difference_95 = 0;           ///< half the width of its 95 % interval
  std::vector<double> rmse_by_round;  ///< geometric mean over seeds
  std::size_t diverged = 0, incomplete = 0;
};

/// Rows in order of first appearance, with `baseline` (a label; empty: the first) as the first one.
std::vector<TableRow> make_table(const std::vector<RunResult>& results,
                                 const std::string& baseline = "");
std::string table_text(const std::vector<TableRow>& rows);
config::Value table_value(const std::vector<TableRow>& rows);

}  // namespace stap
