#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/config/value.h"
#include "stap/eval/statistics.h"

namespace stap {

/// The errors of a table, in the paper's order.
enum class Metric { rmse, nrmse, mae, q99, q95, q50 };
inline constexpr std::size_t kMetrics = 6;
struct MetricInfo {
  Metric metric;
  std::string_view name;   ///< "q99"
  std::string_view key;    ///< in metrics.jsonl: "rmse_q99"
  std::string_view title;  ///< "RMSE 99 %"
  bool two_scales;         ///< the published tables have another scale
};
std::span<const MetricInfo, kMetrics> metric_infos();
const MetricInfo& info(Metric metric);

/// What a run's folder says about its errors.
struct RunResult {
  std::filesystem::path folder;
  config::Value config;
  std::string method;
  std::uint64_t seed = 0;
  std::size_t rounds = 0;  ///< planned
  std::size_t steps = 0, points = 0;
  /// Natural logarithms, by metric and evaluation; infinite if it diverged.
  std::array<std::vector<double>, kMetrics> logs;
  std::size_t diverged = 0;  ///< (trajectory, member, round) that were not finite

  bool complete() const { return logs[0].size() == rounds + 1; }
  /// Mean over the evaluations.
  double headline(Metric metric) const;
};

/// Reads one run's folder. Throws Error(data).
RunResult read_result(const std::filesystem::path& folder);
/// Every run below a sweep's folder (or the folder itself), in the order of the sweep. Throws
/// Error(data) if there is none.
std::vector<RunResult> read_results(const std::filesystem::path& folder);

/// What tells the groups of a sweep apart, for each run: its method, and every key but the seed
/// that is not the same in all of them.
std::vector<std::string> labels(const std::vector<const RunResult*>& results);

/// One metric of one row. A mean of nothing is NaN.
struct TableCell {
  Summary log;                   ///< of the headline, over seeds
  Summary difference;            ///< to the first row, over the seeds that both have
  double difference_95 = 0;      ///< half the width of its 95 % interval
  std::vector<double> by_round;  ///< the error itself: geometric mean over seeds
  std::vector<double> by_seed;   ///< the headlines, as TableRow::seeds
};

/// One line of a table: the seeds of one method.
struct TableRow {
  std::string label;   ///< the method, and what else differs within the problem
  std::string method;  ///< alone
  std::vector<std::uint64_t> seeds;
  std::array<TableCell, kMetrics> cells;
  std::size_t diverged = 0, incomplete = 0;

  const TableCell& of(Metric metric) const { return cells[static_cast<std::size_t>(metric)]; }
};

/// The runs of one problem: equation, initial conditions and steps are the same in all of them.
struct ProblemTable {
  std::string problem;  ///< the preset it is that of, else the equation, and what sets it apart
  std::size_t steps = 0, points = 0;
  /// What a logarithm of RMSE gets on the scale of the published tables, log(sqrt(L Nx) / (L - 1));
  /// infinite for L = 1.
  double published_offset = 0;
  std::string published_problem;  ///< its name in the published tables; empty if it is not there
  bool published_sizes = false;   ///< rounds, initial trajectories, budget and members are those
  std::vector<TableRow> rows;
};

/// Problems and rows in order of first appearance, with `baseline` (a label; empty: the first) as
/// the first row of each. Throws Error(config) if a problem has no such row.
std::vector<ProblemTable> make_tables(const std::vector<RunResult>& results,
                                      const std::string& baseline = "");

}  // namespace stap
