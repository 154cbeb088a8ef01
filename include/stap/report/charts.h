#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stap/report/figures.h"

namespace stap {

/// What a chart may be asked for; each takes what it knows.
struct ChartOf {
  Metric metric = Metric::rmse;
  ErrorsOf whose = ErrorsOf::members;
  std::string parameter{};                           ///< that varies; empty: the first
  std::function<std::vector<MethodCost>()> costs{};  ///< looked up when a chart asks for them
};

/// One chart there is: `stap list charts`, `stap plot --figure` and the report, in this order,
/// follow from its row. One of the makers is there; trajectories (field.h) have none.
struct ChartRow {
  /// What the report offers in its place: nothing, errors of other kinds, all metrics of each, or
  /// each parameter that varies.
  enum class Variants { none, errors, metrics, parameters };

  std::string id;       ///< [a-z-]+: of --figure, and of the chart on the page
  std::string text;     ///< what it shows
  std::string section;  ///< of the report
  Variants variants = Variants::none;
  bool half = false;  ///< there is room for another one beside it
  Chart (*of_methods)(const ProblemMethods&, const ChartOf&) = nullptr;
  bool (*has)(const ProblemMethods&) =
      nullptr;  ///< which problems the report shows it of; null: all
  Chart (*of_run)(const RunResult&, std::size_t group) = nullptr;
  PictureChart (*picture_of_run)(const RunResult&) = nullptr;
};
const std::vector<ChartRow>& chart_rows();

}  // namespace stap
