// Tables as JSON.
#include "results/table_blocks.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

using config::list_of;
using config::Value;

Value paper_value(const ProblemTable& table, const TableRow& row, Metric metric) {
  const Published* published = published_of(table, row, metric);
  if (published == nullptr) return {};
  Value value;
  value.set("table", published->table);
  value.set("method", published->label);
  value.set("mean", published->mean);
  value.set("sd", published->deviation);
  value.set("difference", published_difference(table, row, metric));
  const std::string doubt = published_doubt(*published);
  value.set("doubt", doubt.empty() ? Value() : Value(doubt));
  return value;
}

void set_differences(Value& value, const TableCell& cell) {
  value.set("difference_mean", cell.difference.mean);
  value.set("difference_95", cell.difference_95);
  value.set("difference_95_corrected", cell.corrected_95);
  value.set("difference_pairs", cell.difference.count);
}

Value cell_value(const ProblemTable& table, const TableCell& cell, const MetricInfo& metric) {
  Value value;
  value.set("log_mean", cell.log.mean);
  value.set("log_sd", cell.log.deviation);
  if (metric.two_scales)
    value.set("log_published_mean", on_published_scale(cell.log.mean, table, metric.metric));
  set_differences(value, cell);
  value.set("by_round", list_of(cell.by_round));
  // So that rows of different sweeps can be paired.
  value.set("log_by_seed", list_of(cell.by_seed));
  return value;
}

// Adds what is known about the errors of a row: of the RMSE by the names of table/1, then of all
// metrics that are shown. Published numbers are the members'.
void set_errors(Value& value, const ProblemTable& table, const TableRow& row, ErrorsOf whose,
                const TableView& view) {
  const TableErrors& errors = row.of(whose);
  const TableCell& rmse = errors.of(Metric::rmse);
  value.set("seeds", list_of(errors.seeds));
  value.set("log_rmse_mean", rmse.log.mean);
  value.set("log_rmse_sd", rmse.log.deviation);
  value.set("log_rmse_published_mean", on_published_scale(rmse.log.mean, table, Metric::rmse));
  value.set("log_rmse_published_sd", rmse.log.deviation);
  set_differences(value, rmse);
  value.set("rmse_by_round", list_of(rmse.by_round));
  value.set("diverged", errors.diverged);
  value.set("log_rmse_test_set_sd", errors.test_set_sd);
  for (const auto& [key, of] : {std::pair("rmse_by_channel", &errors.rmse_by_channel),
                                {"nrmse_by_channel", &errors.nrmse_by_channel}})
    if (!of->empty()) value.set(key, list_of(*of));
  Value metrics;
  for (const MetricInfo& metric : metric_infos()) {
    if (view.metric && *view.metric != metric.metric) continue;
    Value cell = cell_value(table, errors.of(metric.metric), metric);
    if (view.paper && whose == ErrorsOf::members)
      cell.set("paper", paper_value(table, row, metric.metric));
    metrics.set(metric.name, std::move(cell));
  }
  value.set("metrics", std::move(metrics));
}

Value row_value(const ProblemTable& table, const TableRow& row, const TableView& view) {
  Value value;
  value.set("problem", table.problem);
  if (table.channels.size() > 1) value.set("channels", list_of(table.channels));
  value.set("label", row.label);
  value.set("method", row.method);
  value.set("incomplete", row.incomplete);
  value.set("without_errors", row.without_errors);
  value.set("set", row.set);
  value.set("rounds", row.rounds);
  value.set("solver_steps", row.solver_steps);
  value.set("candidates", row.candidates);
  value.set("warm_up_steps", row.warm_up_steps);
  set_errors(value, table, row, ErrorsOf::members, view);
  value.set("mean_model", Value());  // also where it was not measured
  for (const ErrorsOfInfo& errors : errors_of_infos()) {
    if (errors.whose == ErrorsOf::members || row.of(errors.whose).seeds.empty()) continue;
    Value of;
    set_errors(of, table, row, errors.whose, view);
    value.set(errors.key, std::move(of));
  }
  return value;
}

}  // namespace

Value tables_value(std::span<const ProblemTable> tables, const TableView& view) {
  Value::List rows, notes;
  for (const ProblemTable& table : tables)
    for (const TableRow& row : table.rows) rows.push_back(row_value(table, row, view));
  for (const std::string& note : table_notes(tables, view)) notes.emplace_back(note);
  Value value;
  value.set("format", "table/3");
  value.set("rows", Value(std::move(rows)));
  value.set("notes", Value(std::move(notes)));
  return value;
}

}  // namespace stap
