// Tables for programs: CSV and JSON.
#include <cmath>

#include <fmt/format.h>

#include "results/table_blocks.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

using config::Value;

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

// As few digits as read back as the same number; nothing for what is no number.
std::string digits(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "";
}

bool shown(const TableView& view, Metric metric) {
  return !view.metric || *view.metric == metric;
}

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

Value by_round(const TableCell& cell) {
  return Value(Value::List(cell.by_round.begin(), cell.by_round.end()));
}

// What table/1 had under other names too.
void set_differences(Value& value, const TableCell& cell) {
  value.set("difference_mean", cell.difference.mean);
  value.set("difference_95", cell.difference_95);
  value.set("difference_pairs", cell.difference.count);
}

Value metric_value(const ProblemTable& table, const TableRow& row, const MetricInfo& metric,
                   const TableView& view) {
  const TableCell& cell = row.of(metric.metric);
  Value value;
  value.set("log_mean", cell.log.mean);
  value.set("log_sd", cell.log.deviation);
  if (metric.two_scales)
    value.set("log_published_mean", on_published_scale(cell.log.mean, table, metric.metric));
  set_differences(value, cell);
  value.set("by_round", by_round(cell));
  // So that rows of different sweeps can be paired.
  value.set("log_by_seed", Value(Value::List(cell.by_seed.begin(), cell.by_seed.end())));
  if (view.paper) value.set("paper", paper_value(table, row, metric.metric));
  return value;
}

}  // namespace

std::string tables_csv(std::span<const ProblemTable> tables, const TableView& view) {
  std::string text =
      "problem,label,seeds,metric,scale,mean,sd,difference,difference_95,pairs,diverged,incomplete";
  text += view.paper ? ",paper_mean,paper_sd,paper_difference\n" : "\n";
  for (const ProblemTable& table : tables)
    for (const TableRow& row : table.rows)
      for (const MetricInfo& metric : metric_infos()) {
        if (!shown(view, metric.metric)) continue;
        const TableCell& cell = row.of(metric.metric);
        const Published* published = published_of(table, row, metric.metric);
        for (const bool on_published : {false, true}) {
          if (on_published && !metric.two_scales) continue;
          const double mean = on_published ? on_published_scale(cell.log.mean, table, metric.metric)
                                           : cell.log.mean;
          text += fmt::format(
              "{},{},{},{},{},{},{},{},{},{},{},{}", quoted(table.problem), quoted(row.label),
              row.seeds.size(), metric.name, on_published ? "published" : "own", digits(mean),
              digits(cell.log.deviation), digits(cell.difference.mean), digits(cell.difference_95),
              cell.difference.count, row.diverged, row.incomplete);
          // A published number stands in the line of its own scale.
          if (view.paper) {
            const bool here = published != nullptr && on_published == metric.two_scales;
            text += here ? fmt::format(",{},{},{}", published->mean, published->deviation,
                                       digits(published_difference(table, row, metric.metric)))
                         : ",,,";
          }
          text += '\n';
        }
      }
  return text;
}

Value tables_value(std::span<const ProblemTable> tables, const TableView& view) {
  Value::List list;
  for (const ProblemTable& table : tables)
    for (const TableRow& row : table.rows) {
      const TableCell& rmse = row.of(Metric::rmse);
      Value v;
      v.set("problem", table.problem);
      v.set("label", row.label);
      v.set("method", row.method);
      v.set("seeds", Value(Value::List(row.seeds.begin(), row.seeds.end())));
      v.set("log_rmse_mean", rmse.log.mean);
      v.set("log_rmse_sd", rmse.log.deviation);
      v.set("log_rmse_published_mean", on_published_scale(rmse.log.mean, table, Metric::rmse));
      v.set("log_rmse_published_sd", rmse.log.deviation);
      set_differences(v, rmse);
      v.set("rmse_by_round", by_round(rmse));
      v.set("diverged", row.diverged);
      v.set("incomplete", row.incomplete);
      Value metrics;
      for (const MetricInfo& metric : metric_infos())
        if (shown(view, metric.metric))
          metrics.set(metric.name, metric_value(table, row, metric, view));
      v.set("metrics", std::move(metrics));
      list.push_back(std::move(v));
    }
  Value::List notes;
  for (const std::string& note : table_notes(tables, view)) notes.emplace_back(note);
  Value value;
  value.set("format", "table/2");
  value.set("rows", Value(std::move(list)));
  value.set("notes", Value(std::move(notes)));
  return value;
}

}  // namespace stap
