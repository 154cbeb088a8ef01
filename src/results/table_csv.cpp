// Runs and tables as comma-separated values.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "results/table_blocks.h"
#include "stap/results/learned_problem.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

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

// The columns of one evaluation, each behind a comma: names, or numbers.
std::string error_names(std::string_view key, std::optional<Metric> chosen) {
  const std::string prefix = key.empty() ? "" : fmt::format("{}_", key);
  std::string text;
  for (const MetricInfo& metric : metric_infos())
    if (!chosen || *chosen == metric.metric) text += fmt::format(",{}{}", prefix, metric.key);
  return text + fmt::format(",{}diverged", prefix);
}

std::string error_numbers(const RunErrors& errors, std::size_t evaluation,
                          std::optional<Metric> chosen) {
  const bool measured = evaluation < errors.diverged.size();
  std::string text;
  for (const MetricInfo& metric : metric_infos())
    if (!chosen || *chosen == metric.metric)
      text += fmt::format(
          ",{}", measured ? digits(errors.values_of(metric.metric)[evaluation]) : std::string());
  return text + (measured ? fmt::format(",{}", errors.diverged[evaluation]) : ",");
}

std::string number_at(const std::vector<std::uint64_t>& numbers, std::size_t k) {
  return k < numbers.size() ? fmt::format("{}", numbers[k]) : "";
}

}  // namespace

std::string runs_csv(const std::vector<RunResult>& results, std::optional<Metric> metric) {
  std::vector<ErrorsOfInfo> shown;
  for (const ErrorsOfInfo& errors : errors_of_infos())
    if (errors.whose <= ErrorsOf::mean_model ||
        std::ranges::any_of(
            results, [&](const RunResult& run) { return !run.of(errors.whose).logs[0].empty(); }))
      shown.push_back(errors);
  std::string text =
      "problem,label,method,seed,round,solver_steps,transitions,candidates,warm_up_steps";
  for (const ErrorsOfInfo& errors : shown) text += error_names(errors.key, metric);
  text += '\n';
  for (const ProblemRuns& problem : by_problem(results)) {
    const std::vector<std::string> names = labels(problem.runs);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const RunResult& run = *problem.runs[i];
      for (std::size_t k = 0; k < run.evaluated(); ++k) {
        text +=
            fmt::format("{},{},{},{},{},{},{},{},{}", quoted(problem.name), quoted(names[i]),
                        quoted(run.method), run.seed, k < run.measured.size() ? run.measured[k] : k,
                        run.solver_steps(k), run.transitions[k], number_at(run.candidates, k),
                        number_at(run.warm_up_steps, k));
        for (const ErrorsOfInfo& errors : shown)
          text += error_numbers(run.of(errors.whose), k, metric);
        text += '\n';
      }
    }
  }
  return text;
}

std::string tables_csv(std::span<const ProblemTable> tables, const TableView& view) {
  std::string text =
      "problem,label,model,seeds,metric,scale,mean,sd,difference,difference_95,pairs,diverged,"
      "incomplete";
  text += view.paper ? ",paper_mean,paper_sd,paper_difference\n" : "\n";
  for (const ProblemTable& table : tables)
    for (const TableRow& row : table.rows)
      for (const MetricInfo& metric : metric_infos()) {
        if (view.metric && *view.metric != metric.metric) continue;
        const TableErrors& errors = row.of(view.whose);
        const TableCell& cell = errors.of(metric.metric);
        const Published* published = published_of(table, row, metric.metric);
        for (const bool on_published : {false, true}) {
          if (on_published && !metric.two_scales) continue;
          const double mean = on_published ? on_published_scale(cell.log.mean, table, metric.metric)
                                           : cell.log.mean;
          text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", quoted(table.problem),
                              quoted(row.label), info(view.whose).name, errors.seeds.size(),
                              metric.name, on_published ? "published" : "own", digits(mean),
                              digits(cell.log.deviation), digits(cell.difference.mean),
                              digits(cell.difference_95), cell.difference.count, errors.diverged,
                              row.incomplete);
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

}  // namespace stap
