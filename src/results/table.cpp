#include "stap/results/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "stap/config/complaints.h"
#include "stap/core/error.h"
#include "stap/results/learned_problem.h"

namespace stap {
namespace {

double published_offset(std::size_t steps, std::size_t points) {
  const double l = static_cast<double>(steps), n = static_cast<double>(points);
  return 0.5 * std::log(l * n) - std::log(l - 1);
}

// Of no values at all the mean is NaN.
Summary summary_of(const std::vector<double>& values) {
  Summary summary = summarise(values);
  if (values.empty()) summary.mean = std::numeric_limits<double>::quiet_NaN();
  return summary;
}

// Headlines of the first row by metric and seed; nothing in that row itself.
using FirstRow = std::array<std::map<std::uint64_t, double>, kMetrics>;

TableCell cell_of(const std::vector<const RunResult*>& runs, ErrorsOf whose, Metric metric,
                  const std::map<std::uint64_t, double>& first) {
  TableCell cell;
  std::vector<double> headlines, paired;
  for (const RunResult* r : runs) {
    headlines.push_back(r->of(whose).headline(metric));
    if (const auto partner = first.find(r->seed); partner != first.end())
      paired.push_back(headlines.back() - partner->second);
  }
  cell.log = summary_of(headlines);
  cell.difference = summary_of(paired);
  cell.difference_95 = half_interval_95(cell.difference);
  cell.by_seed = std::move(headlines);
  const auto logs = [&](const RunResult* r) -> const std::vector<double>& {
    return r->of(whose).logs_of(metric);
  };
  // Runs of one row differ in nothing but the seed, but on what is held back some begin later.
  std::size_t rounds = runs.empty() ? 0 : logs(runs[0]).size();
  for (const RunResult* r : runs) rounds = std::min(rounds, logs(r).size());
  for (std::size_t k = 0; k < rounds; ++k) {
    double sum = 0;
    for (const RunResult* r : runs) sum += logs(r)[logs(r).size() - rounds + k];
    cell.by_round.push_back(std::exp(sum / static_cast<double>(runs.size())));
  }
  return cell;
}

// `counted`: the runs of a row that are complete. The first row that is made fills `first`.
TableErrors errors_of(const std::vector<const RunResult*>& counted, ErrorsOf whose, bool is_first,
                      FirstRow& first) {
  TableErrors errors;
  std::vector<const RunResult*> runs;
  for (const RunResult* r : counted) {
    if (r->of(whose).logs[0].empty()) continue;
    errors.seeds.push_back(r->seed);
    runs.push_back(r);
  }
  for (std::size_t m = 0; m < kMetrics; ++m) {
    const Metric metric = static_cast<Metric>(m);
    errors.cells[m] = cell_of(runs, whose, metric, first[m]);
    if (!is_first) continue;
    for (const RunResult* r : runs) first[m][r->seed] = r->of(whose).headline(metric);
  }
  return errors;
}

// The table of runs of one problem.
ProblemTable table_of(const ProblemRuns& problem, const std::string& baseline) {
  const std::vector<const RunResult*>& results = problem.runs;
  const RunResult& any = *results.front();
  ProblemTable table;
  table.problem = problem.name;
  table.steps = any.steps;
  for (const RunResult* r : results) table.points = std::max(table.points, r->points);
  table.validation = std::ranges::any_of(results, [](auto* r) { return r->validation; });
  // Errors of single steps have no published scale.
  table.published_offset = published_offset(table.validation ? 1 : table.steps, table.points);
  table.published_problem = published_problem(any.config);
  table.published_sizes =
      std::ranges::all_of(results, [](auto* r) { return has_published_sizes(*r); });

  const std::vector<std::string> names = labels(results);
  std::vector<std::string> order;
  for (const std::string& name : names)
    if (std::ranges::find(order, name) == order.end()) order.push_back(name);
  if (!baseline.empty()) {
    const auto found = std::ranges::find(order, baseline);
    if (found == order.end())
      throw Error(ErrorKind::config,
                  fmt::format("there is no row '{}' in the table of {}{}", baseline, table.problem,
                              config::hint(baseline, order, "rows")));
    std::rotate(order.begin(), found, found + 1);
  }
  FirstRow first_members, first_mean_model;
  for (const std::string& name : order) {
    TableRow row;
    row.label = name;
    std::vector<const RunResult*> counted;
    std::set<std::uint64_t> seeds;
    std::size_t diverged = 0, mean_model_diverged = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const RunResult& r = *results[i];
      if (names[i] != name) continue;
      // The same run under two names counts once.
      if (!seeds.insert(r.seed).second) {
        ++row.repeated;
        continue;
      }
      row.method = r.method;
      diverged += r.members.diverged_total();
      mean_model_diverged += r.mean_model.diverged_total();
      if (r.complete())
        counted.push_back(&r);
      else
        ++(r.without_errors() ? row.without_errors : row.incomplete);
    }
    const bool is_first = table.rows.empty();
    row.members = errors_of(counted, ErrorsOf::members, is_first, first_members);
    row.mean_model = errors_of(counted, ErrorsOf::mean_model, is_first, first_mean_model);
    row.members.diverged = diverged;
    row.mean_model.diverged = mean_model_diverged;
    row.without_mean_model = row.members.seeds.size() - row.mean_model.seeds.size();
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<ProblemTable> make_tables(const std::vector<RunResult>& results,
                                      const std::string& baseline) {
  std::vector<ProblemTable> tables;
  for (const ProblemRuns& problem : by_problem(results))
    tables.push_back(table_of(problem, baseline));
  return tables;
}

}  // namespace stap
