#include "stap/results/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "stap/config/complaints.h"
#include "stap/core/error.h"
#include "stap/results/comparison.h"
#include "stap/results/learned_problem.h"

namespace stap {
namespace {

// See Metrics::to_published; k is the cluster.
double published_offset(std::size_t steps, std::size_t k, std::size_t points) {
  const double l = static_cast<double>(steps), n = static_cast<double>(points);
  return 0.5 * std::log(l * n) - std::log(l / static_cast<double>(k) - 1);
}

// Of no values at all the mean is NaN.
Summary summary_of(const std::vector<double>& values) {
  Summary summary = summarise(values);
  if (values.empty()) summary.mean = std::numeric_limits<double>::quiet_NaN();
  return summary;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// A run's logarithms in the rounds 0 to `rounds`.
std::vector<double> logs_until(const RunResult& run, ErrorsOf whose, Metric metric,
                               std::size_t rounds) {
  std::vector<double> logs = run.of(whose).logs_of(metric);
  const auto behind = [&](std::size_t k) {
    return (k < run.measured.size() ? run.measured[k] : k) > rounds;
  };
  while (!logs.empty() && behind(logs.size() - 1)) logs.pop_back();
  return logs;
}

TableCell cell_of(const std::vector<const RunResult*>& runs, ErrorsOf whose, Metric metric,
                  std::size_t rounds) {
  TableCell cell;
  std::vector<std::vector<double>> logs;
  for (const RunResult* r : runs) {
    logs.push_back(logs_until(*r, whose, metric, rounds));
    cell.by_seed.push_back(mean_of(logs.back()));
    cell.last.push_back(logs.back().empty() ? std::nan("") : logs.back().back());
  }
  cell.log = summary_of(cell.by_seed);
  cell.difference = summary_of({});
  cell.difference_95 = cell.corrected_95 = half_interval_95(cell.difference);
  // Runs of one row differ in nothing but the seed, but on what is held back some begin later.
  std::size_t least = logs.empty() ? 0 : logs[0].size();
  for (const auto& one : logs) least = std::min(least, one.size());
  for (std::size_t k = 0; k < least; ++k) {
    double sum = 0;
    for (const auto& one : logs) sum += one[one.size() - least + k];
    cell.by_round.push_back(std::exp(sum / static_cast<double>(logs.size())));
  }
  return cell;
}

double test_set_sd(const std::vector<const RunResult*>& runs, ErrorsOf whose, std::size_t rounds) {
  std::vector<double> relative;
  for (const RunResult* r : runs) {
    const std::vector<double>& errors = r->of(whose).standard_errors;
    if (errors.empty() || r->validation) return TableRow::kNotKnown;
    const std::vector<double> logs = logs_until(*r, whose, Metric::rmse, rounds);
    for (std::size_t k = 0; k < logs.size(); ++k) relative.push_back(errors[k] / std::exp(logs[k]));
  }
  return mean_of(relative);
}

// After the last round that is counted, geometric means over the runs.
std::vector<double> last_by_channel(const std::vector<const RunResult*>& runs, ErrorsOf whose,
                                    std::size_t rounds,
                                    std::vector<std::vector<double>> RunErrors::*channels) {
  std::vector<double> logs;
  for (const RunResult* run : runs) {
    const auto& by_evaluation = run->of(whose).*channels;
    std::size_t last = run->measured.size();
    while (last > 0 && run->measured[last - 1] > rounds) --last;
    if (last == 0 || by_evaluation.size() != run->evaluated()) return {};
    const std::vector<double>& errors = by_evaluation[last - 1];
    if (logs.empty()) logs.assign(errors.size(), 0.0);
    if (errors.size() != logs.size()) return {};
    for (std::size_t c = 0; c < logs.size(); ++c)
      logs[c] += std::log(errors[c]) / static_cast<double>(runs.size());
  }
  for (double& log : logs) log = std::exp(log);
  return logs;
}

// `counted`: the runs of a row that are complete.
TableErrors errors_of(const std::vector<const RunResult*>& counted, ErrorsOf whose,
                      std::size_t rounds) {
  TableErrors errors;
  std::vector<const RunResult*> runs;
  for (const RunResult* r : counted) {
    if (r->of(whose).logs[0].empty()) continue;
    errors.seeds.push_back(r->seed);
    runs.push_back(r);
  }
  for (std::size_t m = 0; m < kMetrics; ++m)
    errors.cells[m] = cell_of(runs, whose, static_cast<Metric>(m), rounds);
  errors.test_set_sd = test_set_sd(runs, whose, rounds);
  errors.rmse_by_channel = last_by_channel(runs, whose, rounds, &RunErrors::rmse_by_channel);
  errors.nrmse_by_channel = last_by_channel(runs, whose, rounds, &RunErrors::nrmse_by_channel);
  return errors;
}

// The runs of one row that are counted.
using RowRuns = std::vector<const RunResult*>;

// What rows must have in common to be compared, and its names.
constexpr std::array kSetNames{"test set", "number of initial trajectories", "data from before",
                               "budget per round", "charge for warm-ups"};
using SetKey = std::array<std::string, kSetNames.size()>;

SetKey set_key(const RunResult& run) {
  const auto text = [&](const char* path) {
    const config::Value* value = config::find_path(run.config, path);
    return value != nullptr ? config::json_text(*value, 0) : std::string();
  };
  return {run.test_sha256, text("study.initial"), text("first"), text("study.budget"),
          run.charge_warm_up ? "true" : "false"};
}

// Puts every row into its set, with the rounds that all finished runs of the set have.
void put_into_sets(const std::vector<RowRuns>& counted, ProblemTable& table) {
  std::vector<SetKey> keys;
  std::vector<std::size_t> rounds;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (counted[r].empty()) continue;
    const SetKey key = set_key(*counted[r].front());
    const auto found = std::ranges::find(keys, key) - keys.begin();
    if (found == std::ssize(keys)) {
      keys.push_back(key);
      rounds.push_back(counted[r].front()->rounds);
    }
    const std::size_t set = table.rows[r].set = static_cast<std::size_t>(found);
    for (const RunResult* run : counted[r]) rounds[set] = std::min(rounds[set], run->rounds);
  }
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (counted[r].empty()) continue;
    table.rows[r].rounds = rounds[table.rows[r].set];
    table.rows[r].cut = counted[r].front()->rounds > table.rows[r].rounds;
  }
  for (std::size_t part = 0; part < kSetNames.size(); ++part)
    if (std::ranges::any_of(keys, [&](const SetKey& key) { return key[part] != keys[0][part]; }))
      table.apart += fmt::format("{}{}", table.apart.empty() ? "" : " and ", kSetNames[part]);
}

// What a row has cost after its last round; not known where one of its runs does not say.
void set_costs(const RowRuns& runs, TableRow& row) {
  double steps = 0, candidates = 0, warm_ups = 0;
  const auto share = [&](std::uint64_t number) {
    return static_cast<double>(number) / static_cast<double>(runs.size());
  };
  for (const RunResult* run : runs) {
    std::size_t last = run->measured.size();
    while (last > 0 && run->measured[last - 1] > row.rounds) --last;
    if (last == 0 || run->candidates.empty()) return;
    steps += share(run->solver_steps(last - 1));
    candidates += share(run->candidates[last - 1]);
    warm_ups +=
        run->warm_up_steps.empty() ? TableRow::kNotKnown : share(run->warm_up_steps[last - 1]);
  }
  if (runs.empty()) return;
  row.solver_steps = steps;
  row.candidates = candidates;
  row.warm_up_steps = warm_ups;
}

// Of every row to the first one, where they are of one set.
void set_differences(ErrorsOf whose, ProblemTable& table) {
  const TableRow& first = table.rows.front();
  if (first.members.seeds.empty()) return;
  std::size_t comparisons = 1;
  for (const auto& set : ranked_sets(table, whose))
    if (table.rows[set.front()].set == first.set) comparisons = comparisons_of(set.size());
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    if (table.rows[i].set != first.set) continue;
    TableErrors& errors = table.rows[i].of(whose);
    for (const MetricInfo& metric : metric_infos()) {
      TableCell& cell = errors.cells[static_cast<std::size_t>(metric.metric)];
      cell.difference = paired_difference(errors, first.of(whose), metric.metric);
      cell.difference_95 = half_interval_95(cell.difference);
      cell.corrected_95 = corrected_half_95(cell.difference, comparisons);
    }
  }
}

// The table of runs of one problem.
ProblemTable table_of(const ProblemRuns& problem, const std::string& baseline) {
  const std::vector<const RunResult*>& results = problem.runs;
  const RunResult& any = *results.front();
  ProblemTable table;
  table.problem = problem.name;
  table.steps = any.steps;
  table.channels = config::texts_in(any.manifest.identity.find("channels"));
  for (const RunResult* r : results) table.points = std::max(table.points, r->points);
  table.validation = std::ranges::any_of(results, [](auto* r) { return r->validation; });
  // Errors of single steps have no published scale.
  table.published_offset = table.validation
                               ? published_offset(1, 1, table.points)
                               : published_offset(table.steps, any.cluster, table.points);
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
  std::vector<RowRuns> counted;
  for (const std::string& name : order) {
    TableRow& row = table.rows.emplace_back();
    row.label = name;
    RowRuns& runs = counted.emplace_back();
    std::set<std::uint64_t> seeds;
    for (int told = RunResult::kMostTold; told >= 0; --told)  // the same run counts once
      for (std::size_t i = 0; i < results.size(); ++i) {
        const RunResult& r = *results[i];
        if (names[i] != name || r.told() != told) continue;
        if (!seeds.insert(r.seed).second) {
          ++row.repeated;
          continue;
        }
        row.runs.push_back(&r);
        row.method = r.method;
        for (const ErrorsOfInfo& errors : errors_of_infos())
          row.of(errors.whose).diverged += r.of(errors.whose).diverged_total();
        if (r.complete())
          runs.push_back(&r);
        else
          ++(r.without_errors() ? row.without_errors : row.incomplete);
      }
    std::ranges::sort(row.runs);
  }
  put_into_sets(counted, table);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    TableRow& row = table.rows[i];
    for (const ErrorsOfInfo& whose : errors_of_infos()) {
      TableErrors& errors = row.of(whose.whose);
      const std::size_t diverged = errors.diverged;
      errors = errors_of(counted[i], whose.whose, row.rounds);
      errors.diverged = diverged;
    }
    set_costs(counted[i], row);
  }
  for (const ErrorsOfInfo& whose : errors_of_infos()) set_differences(whose.whose, table);
  return table;
}

}  // namespace

Summary paired_difference(const TableErrors& a, const TableErrors& b, Metric metric,
                          std::vector<double> TableCell::*log) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.seeds.size(); ++i)
    if (const auto partner = std::ranges::find(b.seeds, a.seeds[i]); partner != b.seeds.end())
      differences.push_back(
          (a.of(metric).*log)[i] -
          (b.of(metric).*log)[static_cast<std::size_t>(partner - b.seeds.begin())]);
  return summary_of(differences);
}

constexpr TableErrors TableRow::*kErrors[kErrorsOf] = {
    &TableRow::members, &TableRow::mean_model, &TableRow::images, &TableRow::mean_model_images};

TableErrors& TableRow::of(ErrorsOf whose) {
  return this->*kErrors[static_cast<std::size_t>(whose)];
}
const TableErrors& TableRow::of(ErrorsOf whose) const {
  return this->*kErrors[static_cast<std::size_t>(whose)];
}

std::vector<ProblemTable> make_tables(const std::vector<RunResult>& results,
                                      const std::string& baseline) {
  std::vector<ProblemTable> tables;
  for (const ProblemRuns& problem : by_problem(results))
    tables.push_back(table_of(problem, baseline));
  return tables;
}

}  // namespace stap
