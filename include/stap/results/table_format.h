#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/results/table.h"
#include "stap/results/text_style.h"

namespace stap {

/// What is shown of tables.
struct TableView {
  std::optional<Metric> metric = Metric::rmse;  ///< none: all six
  bool paper = false;                           ///< the published value beside ours
  ErrorsOf whose = ErrorsOf::members;           ///< tables_value() has both
  bool notes = true;  ///< explain columns; what is wrong is said in any case
};

/// For people: one table a problem, columns aligned, one scale a column. One metric: differences,
/// the errors by round and both scales; all six: a block for each scale and one of differences.
/// Whatever the labels, no line is longer than the style's columns, if it has 60 or more.
std::string tables_text(std::span<const ProblemTable> tables, const TableView& view = {},
                        const TextStyle& style = {});
/// For papers: a tabular (package booktabs) of methods by problems for one metric, or for each
/// problem one of methods by metrics; the best value of a column bold.
std::string tables_latex(std::span<const ProblemTable> tables, const TableView& view = {});
/// One line for each evaluation of each run, also of runs that are not finished: problem, label,
/// method, seed, round, solver steps and transitions in the training set, then the chosen metrics
/// and how many rollouts diverged, of the members and (`mean_model_...`) of the mean model. Errors
/// as they are, no logarithms. Empty: not finite, or not measured.
std::string runs_csv(const std::vector<RunResult>& results,
                     std::optional<Metric> metric = std::nullopt);
/// One line for each problem, method, metric and scale. Empty: there is no such number.
std::string tables_csv(std::span<const ProblemTable> tables, const TableView& view = {});
/// Format table/3: a list of rows with their problem, the log RMSE and all chosen metrics of the
/// members, and under `mean_model` (null where nothing was measured) the same of the mean model. It
/// has all of table/2.
config::Value tables_value(std::span<const ProblemTable> tables, const TableView& view = {});

}  // namespace stap
