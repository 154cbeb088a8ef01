// Errors along the parameters of a problem, and which values of them were bought.
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "report/seeds.h"
#include "stap/config/files.h"
#include "stap/results/run_analysis.h"

namespace stap {
namespace {

using config::list_at;
using config::text_at;
using config::Value;

std::vector<double> numbers(const Value& entry, const char* key) {
  std::vector<double> values;
  for (const Value& value : list_at(entry, key))
    values.push_back(value.real().value_or(std::nan("")));
  return values;
}

// The middles of its parts, and what they are on.
struct Parts {
  std::vector<double> x;
  bool log = false;
};
Parts parts_of(const Value& entry) {
  Parts parts{numbers(entry, "values"), text_at(entry, "draw") == "log"};
  const std::vector<double> edges = numbers(entry, "edges");
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    parts.x.push_back(parts.log ? std::sqrt(edges[i] * edges[i + 1])
                                : 0.5 * (edges[i] + edges[i + 1]));
  return parts;
}

// Calls `look` with the entry of the parameter in the analysis of every run of the method.
void look_at_entries(const MethodRuns& method, const std::string& name, std::string& note,
                     const std::function<void(const Value&)>& look) {
  for (const RunResult* run : method.runs) {
    std::error_code error;
    if (!std::filesystem::exists(run->folder / "analysis.json", error)) continue;
    look_at(*run, note, [&] {
      const Value analysis = read_analysis(run->folder);
      for (const Value& entry : list_at(analysis, "parameters"))
        if (text_at(entry, "name") == name) look(entry);
    });
  }
}

std::string named(const ProblemMethods& problem, const std::string& parameter) {
  const std::vector<std::string> names = parameters_of(problem);
  return !parameter.empty() || names.empty() ? parameter : names.front();
}

std::vector<double> shares(const std::vector<double>& counts) {
  double sum = 0;
  for (const double count : counts) sum += count;
  std::vector<double> parts;
  for (const double count : counts) parts.push_back(count / sum);
  return parts;
}

// Means over seeds of [seed][part].
Series over_seeds(const MethodRuns& method, const Parts& parts,
                  const std::vector<std::vector<double>>& seeds,
                  SeedMean (*mean_of)(const std::vector<double>&)) {
  Series series{.label = method.label, .group = method.group};
  for (std::size_t i = 0; i < parts.x.size(); ++i) {
    std::vector<double> values;
    for (const std::vector<double>& seed : seeds)
      values.push_back(i < seed.size() ? seed[i] : std::nan(""));
    const SeedMean mean = mean_of(values);
    series.x.push_back(parts.x[i]);
    series.y.push_back(mean.mean);
    series.low.push_back(mean.low);
    series.high.push_back(mean.high);
  }
  if (seeds.size() == 1) series.low = series.high = {};
  return series;
}

void conclude(Chart& chart, const std::vector<std::size_t>& counted) {
  add_note(chart.note, bands_text(counted));
  if (chart.series.empty()) add_note(chart.note, "No run was analysed: stap analyse does it");
}

}  // namespace

std::vector<std::string> parameters_of(const ProblemMethods& problem) {
  for (const MethodRuns& method : problem.methods)
    for (const RunResult* run : method.runs)
      return config::texts_in(run->manifest.identity.find("parameters"));
  return {};
}

bool has_parameters(const ProblemMethods& problem) {
  return !parameters_of(problem).empty();
}

Chart parameter_errors_chart(const ProblemMethods& problem, const std::string& parameter) {
  const std::string name = named(problem, parameter);
  Chart chart{.title = fmt::format("Error along {}", name),
              .x = {.label = name},
              .y = {.label = "RMSE", .log = true}};
  std::vector<std::size_t> counted;
  std::string trajectories;
  for (const MethodRuns& method : problem.methods) {
    Parts parts;
    std::vector<std::vector<double>> logs;
    look_at_entries(method, name, chart.note, [&](const Value& entry) {
      std::vector<double> errors = numbers(entry, "rmse");
      if (errors.empty()) return;
      for (double& error : errors) error = std::log(error);
      logs.push_back(std::move(errors));
      parts = parts_of(entry);
      trajectories.clear();
      for (const double n : numbers(entry, "test_trajectories"))
        trajectories += fmt::format("{}{:g}", trajectories.empty() ? "" : ", ", n);
    });
    if (logs.empty()) continue;
    chart.x.log = parts.log;
    counted.push_back(logs.size());
    chart.series.push_back(over_seeds(method, parts, logs, geometric_mean_over_seeds));
  }
  if (!chart.series.empty())
    add_note(chart.note,
             fmt::format("Averaged model, newest networks, at the middles of equal parts of the "
                         "range; test trajectories in them: {}",
                         trajectories));
  conclude(chart, counted);
  return chart;
}

Chart parameter_values_chart(const ProblemMethods& problem, const std::string& parameter) {
  const std::string name = named(problem, parameter);
  Chart chart{.title = fmt::format("Which values of {} were bought", name),
              .x = {.label = name},
              .y = {.label = "share of solver steps", .low = 0}};
  std::vector<std::size_t> counted;
  std::optional<Series> pool;
  for (const MethodRuns& method : problem.methods) {
    Parts parts;
    std::vector<std::vector<double>> seeds;
    look_at_entries(method, name, chart.note, [&](const Value& entry) {
      const std::vector<double> bought = shares(numbers(entry, "bought_steps"));
      if (bought.empty() || std::isnan(bought.front())) return;  // nothing yet
      seeds.push_back(bought);
      parts = parts_of(entry);
      if (const std::vector<double> all = numbers(entry, "pool"); !pool && !all.empty())
        pool = Series{.label = "pool", .group = kNoMethod, .x = parts.x, .y = shares(all)};
    });
    if (seeds.empty()) continue;
    chart.x.log = parts.log;
    counted.push_back(seeds.size());
    chart.series.push_back(over_seeds(method, parts, seeds, mean_over_seeds));
  }
  if (pool) chart.series.push_back(std::move(*pool));
  if (!chart.series.empty())
    add_note(chart.note,
             fmt::format("Of all rounds after the initial trajectories, in equal parts of the "
                         "range{}",
                         pool ? "; of the pool, the share of its initial conditions" : ""));
  conclude(chart, counted);
  return chart;
}

}  // namespace stap
