#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "stap/eval/statistics.h"
#include "stap/results/run_result.h"

namespace stap {

/// One metric of one row. A mean of nothing is NaN.
struct TableCell {
  Summary log;                   ///< of the headline, over seeds
  Summary difference;            ///< to the first row, over the seeds that both have; of its set
  double difference_95 = 0;      ///< half the width of its 95 % interval, and the same corrected
  double corrected_95 = 0;       ///< for all pairs of rows of its set: the one that is shown
  std::vector<double> by_round;  ///< the error itself: geometric mean over seeds
  std::vector<double> by_seed;   ///< the headlines, as TableErrors::seeds
  std::vector<double> last;      ///< the logarithm after the last round, likewise
};

/// All metrics of one row, of the members, the mean model or one of them over images.
struct TableErrors {
  std::vector<std::uint64_t> seeds;  ///< of the runs that are counted
  std::array<TableCell, kMetrics> cells;
  std::size_t diverged = 0;  ///< rollouts of all runs that were not finite
  /// After the last round that is counted, geometric means over seeds; empty as in RunErrors.
  std::vector<double> rmse_by_channel{}, nrmse_by_channel{};
  /// Of the log RMSE over test sets of as many trajectories: the mean over runs and rounds of
  /// standard error / RMSE. NaN: not known.
  double test_set_sd = std::numeric_limits<double>::quiet_NaN();

  const TableCell& of(Metric metric) const { return cells[static_cast<std::size_t>(metric)]; }
};

/// a - b of a logarithm of each seed, over the seeds that both have.
Summary paired_difference(const TableErrors& a, const TableErrors& b, Metric metric,
                          std::vector<double> TableCell::*log = &TableCell::by_seed);

/// One line of a table: the seeds of one method.
struct TableRow {
  static constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

  std::string label;                   ///< the method, and what else differs within the problem
  std::string method;                  ///< alone
  std::vector<const RunResult*> runs;  ///< no seed twice; finished or not
  TableErrors members, mean_model, images, mean_model_images;
  /// Means over seeds after the last round that is counted; NaN: not known. Steps bought,
  /// trajectories they are of, and what the warm-ups of these come to, charged or not.
  double solver_steps = kNotKnown, candidates = kNotKnown, warm_up_steps = kNotKnown;
  /// Rows of one set have the same test set, initial trajectories and budget, so that their errors
  /// can be compared, in the rounds that all of them have.
  std::size_t set = 0;
  std::size_t rounds = 0;          ///< that are counted, the 0th apart
  bool cut = false;                ///< it has more, which are not
  std::size_t incomplete = 0;      ///< runs that are not finished, and not counted
  std::size_t without_errors = 0;  ///< runs of a study without a test set
  std::size_t repeated = 0;        ///< runs that are there under another name already

  const TableErrors& of(ErrorsOf whose) const;
  TableErrors& of(ErrorsOf whose);
  /// Finished runs in which these errors were not measured.
  std::size_t without(ErrorsOf whose) const {
    return members.seeds.size() - of(whose).seeds.size();
  }
};

/// The runs of one problem: equation, initial conditions and steps are the same in all of them.
struct ProblemTable {
  std::string problem;  ///< the preset it is that of, else the equation, and what sets it apart
  std::size_t steps = 0;
  std::size_t points = 0;               ///< 0: no run was evaluated
  std::vector<std::string> channels{};  ///< names
  bool validation = false;  ///< errors are of single steps on what was held back from training
  /// What a logarithm of RMSE gets on the scale of the published tables, log(sqrt(L Nx) / (L - 1)),
  /// as Metrics::to_published has it; infinite for one call and for single steps.
  double published_offset = 0;
  std::string published_problem;  ///< its name in the published tables; empty if it is not there
  bool published_sizes = false;   ///< rounds, initial trajectories, budget and members are those
  std::vector<TableRow> rows;
  std::string apart{};  ///< what sets of rows differ in, in words; empty: there is one
};

/// Problems and rows in order of first appearance, with `baseline` (a label; empty: the first) as
/// the first row of each; rows point into `results`. Throws Error(config) if a problem has no such
/// row.
std::vector<ProblemTable> make_tables(const std::vector<RunResult>& results,
                                      const std::string& baseline = "");

}  // namespace stap
