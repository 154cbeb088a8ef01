// Charts of errors: what make_tables() has as numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "report/seeds.h"
#include "stap/results/published.h"
#include "stap/results/table.h"

namespace stap {
namespace {

void add_apart_note(const ProblemMethods& problem, std::string& note) {
  if (!problem.apart.empty())
    add_note(note, fmt::format("The methods differ in their {}, so that their errors do not say "
                               "which is better",
                               problem.apart));
}

bool warm_ups_charged(const ProblemMethods& problem) {
  return std::ranges::any_of(problem.methods, [](const MethodRuns& method) {
    return std::ranges::any_of(method.runs, [](auto* run) { return run->charge_warm_up; });
  });
}

// Notes that all charts of errors have.
struct ErrorNotes {
  std::vector<std::size_t> seeds;  // by method
  std::size_t diverged = 0, unfinished = 0, without = 0;

  void count(const MethodRuns& method, ErrorsOf whose, std::size_t counted) {
    seeds.push_back(counted);
    for (const RunResult* run : method.runs) {
      diverged += run->of(whose).diverged_total();
      unfinished += run->complete() || run->without_errors() ? 0 : 1;
      without += run->of(whose).logs[0].empty() ? 1 : 0;
    }
  }

  std::string text(bool any) const {
    std::string note;
    if (!any)
      return unfinished > 0 ? "No run has errors of this kind yet"
                            : "No run has errors of this kind";
    if (std::ranges::max(seeds) > 1) add_note(note, "Geometric means over seeds");
    add_note(note, bands_text(seeds));
    if (unfinished > 0)
      add_note(note, fmt::format(
                         "{} not finished: means are of the rounds that all seeds have",
                         unfinished == 1 ? "One run is" : fmt::format("{} runs are", unfinished)));
    if (diverged > 0)
      add_note(note, fmt::format("{} rollouts diverged; rounds with an infinite mean are gaps",
                                 diverged));
    return note;
  }
};

Series line_of(const MethodRuns& method) {
  return {.label = method.label, .group = method.group};
}

void add_point(Series& series, double x, const SeedMean& mean) {
  series.x.push_back(x);
  series.y.push_back(mean.mean);
  series.low.push_back(mean.low);
  series.high.push_back(mean.high);
}

// One seed has no band.
void drop_empty_band(Series& series) {
  if (std::ranges::all_of(series.low, [](double v) { return std::isnan(v); }))
    series.low = series.high = {};
}

Series seed_line(const MethodRuns& method, const RunResult& run) {
  Series series = line_of(method);
  series.label += fmt::format(", seed {}", run.seed);
  series.seed = true;
  return series;
}

// The paper has means over rounds only: a level, on our scale.
std::optional<Series> published_level(const ProblemMethods& problem, const MethodRuns& method,
                                      const MetricInfo& metric, const Series& ours) {
  const Published* value =
      problem.published_problem.empty() || ours.x.size() < 2
          ? nullptr
          : find_published(problem.published_problem, method.method, metric.key);
  const double level =
      value == nullptr ? 0
                       : std::exp(value->mean - (metric.two_scales ? problem.published_offset : 0));
  if (value == nullptr || !std::isfinite(level)) return std::nullopt;
  Series series = line_of(method);
  series.label += ", published";
  series.published = true;
  series.x = {ours.x.front(), ours.x.back()};
  series.y = {level, level};
  return series;
}

std::string y_label(const ProblemMethods& problem, std::string_view metric) {
  return fmt::format("{}{}", metric, problem.validation ? " of single steps" : "");
}

// The last round that all runs of a method have; notes where that differs between methods.
struct LastRound {
  std::vector<const RunResult*> runs;
  std::size_t round = 0;
};
std::vector<LastRound> last_rounds(const ProblemMethods& problem, ErrorsOf whose) {
  std::vector<LastRound> last;
  for (const MethodRuns& method : problem.methods) {
    LastRound& one = last.emplace_back();
    const auto runs = runs_with_errors(method, whose);
    const auto rounds = common_rounds(runs);
    if (!rounds.empty()) one = {runs, rounds.back()};
  }
  return last;
}

std::string last_rounds_text(const std::vector<LastRound>& last) {
  std::set<std::size_t> rounds;
  for (const LastRound& one : last)
    if (!one.runs.empty()) rounds.insert(one.round);
  if (rounds.empty()) return {};
  return rounds.size() == 1 ? fmt::format("After round {}", *rounds.begin())
                            : fmt::format("After the last round of each method, {} to {}",
                                          *rounds.begin(), *rounds.rbegin());
}

}  // namespace

std::vector<ProblemMethods> methods_of(const std::vector<RunResult>& results) {
  std::vector<ProblemMethods> problems;
  std::vector<std::string> known;  // labels, by group
  for (const ProblemTable& table : make_tables(results)) {
    ProblemMethods& problem = problems.emplace_back();
    problem = {.problem = table.problem,
               .methods = {},
               .steps = table.steps,
               .points = table.points,
               .validation = table.validation,
               .published_problem = table.published_sizes ? table.published_problem : "",
               .published_offset = table.published_offset,
               .apart = table.apart};
    for (const TableRow& row : table.rows) {
      const auto group = std::ranges::find(known, row.label) - known.begin();
      if (group == std::ssize(known)) known.push_back(row.label);
      problem.methods.push_back({row.label, row.method, static_cast<std::size_t>(group), row.runs});
    }
  }
  return problems;
}

Chart errors_chart(const ProblemMethods& problem, Metric metric, ErrorsOf whose) {
  const MetricInfo& what = info(metric);
  // One scale for all, also where only some are charged.
  const bool charged = warm_ups_charged(problem);
  const auto x_of = [&](const RunResult& run, std::size_t k) {
    return static_cast<double>(run.solver_steps(k) + (charged ? run.chosen_warm_ups(k) : 0));
  };
  Chart chart{.title = fmt::format("{} of the {}", what.title, info(whose).title),
              .x = {.label = charged ? "solver steps, warm-ups of chosen trajectories included"
                                     : "solver steps bought"},
              .y = {.label = y_label(problem, what.title), .log = true}};
  ErrorNotes notes;
  std::vector<Series> seeds, published;
  for (const MethodRuns& method : problem.methods) {
    const auto runs = runs_with_errors(method, whose);
    notes.count(method, whose, runs.size());
    if (runs.empty()) continue;
    Series mean = line_of(method);
    for (const std::size_t round : common_rounds(runs)) {
      std::vector<double> logs;
      double steps = 0;
      for (const RunResult* run : runs) {
        const std::size_t k = evaluation_of(*run, round);
        logs.push_back(run->of(whose).logs_of(metric)[k]);
        steps += x_of(*run, k) / static_cast<double>(runs.size());
      }
      add_point(mean, steps, geometric_mean_over_seeds(logs));
    }
    drop_empty_band(mean);
    for (const RunResult* run : runs) {
      if (runs.size() == 1) break;
      Series& one = seeds.emplace_back(seed_line(method, *run));
      one.y = run->of(whose).values_of(metric);
      for (std::size_t k = 0; k < one.y.size(); ++k) one.x.push_back(x_of(*run, k));
    }
    if (whose == ErrorsOf::members)
      if (auto level = published_level(problem, method, what, mean)) published.push_back(*level);
    chart.series.push_back(std::move(mean));
  }
  chart.note = notes.text(!chart.series.empty());
  add_apart_note(problem, chart.note);
  if (!published.empty())
    add_note(chart.note, "Dotted: the paper's means over all rounds, on this scale");
  std::ranges::move(published, std::back_inserter(chart.series));
  std::ranges::move(seeds, std::back_inserter(chart.series));
  return chart;
}

Chart quantiles_chart(const ProblemMethods& problem, ErrorsOf whose) {
  constexpr Metric kQuantiles[] = {Metric::q50, Metric::q95, Metric::q99};
  Chart chart{
      .title = fmt::format("RMSE of easy and hard {}, {}",
                           problem.validation ? "steps" : "trajectories", info(whose).title),
      .x = {.label = problem.validation ? "held-back steps with a smaller error"
                                        : "test trajectories with a smaller error",
            .log = false,
            .names = {"50 %", "95 %", "99 %"}},
      .y = {.label = y_label(problem, "RMSE"), .log = true}};
  const std::vector<LastRound> last = last_rounds(problem, whose);
  ErrorNotes notes;
  const double n = static_cast<double>(problem.methods.size());
  for (std::size_t m = 0; m < problem.methods.size(); ++m) {
    const MethodRuns& method = problem.methods[m];
    notes.count(method, whose, last[m].runs.size());
    if (last[m].runs.empty()) continue;
    Series series = line_of(method);
    series.mark = Series::Mark::points;
    for (std::size_t q = 0; q < std::size(kQuantiles); ++q) {
      std::vector<double> logs;
      for (const RunResult* run : last[m].runs)
        logs.push_back(run->of(whose).logs_of(kQuantiles[q])[evaluation_of(*run, last[m].round)]);
      // Side by side.
      add_point(series, static_cast<double>(q) + 0.6 * ((static_cast<double>(m) + 0.5) / n - 0.5),
                geometric_mean_over_seeds(logs));
    }
    drop_empty_band(series);
    chart.series.push_back(std::move(series));
  }
  chart.note = notes.text(!chart.series.empty());
  add_apart_note(problem, chart.note);
  add_note(chart.note, last_rounds_text(last));
  return chart;
}

Chart by_step_chart(const ProblemMethods& problem, ErrorsOf whose) {
  Chart chart{.title = fmt::format("RMSE by rollout step of the {}", info(whose).title),
              .x = {.label = "rollout step"},
              .y = {.label = "RMSE at the step", .log = true}};
  if (problem.validation) {
    chart.note = "Errors are of single steps on what was held back: there are no rollouts";
    return chart;
  }
  const std::vector<LastRound> last = last_rounds(problem, whose);
  ErrorNotes notes;
  std::vector<Series> seeds;
  for (std::size_t m = 0; m < problem.methods.size(); ++m) {
    const MethodRuns& method = problem.methods[m];
    const auto& runs = last[m].runs;
    notes.count(method, whose, runs.size());
    Series mean = line_of(method);
    std::vector<const std::vector<double>*> errors;
    for (const RunResult* run : runs) {
      const auto& by_step = run->of(whose).rmse_by_step;
      const std::size_t k = evaluation_of(*run, last[m].round);
      if (k < by_step.size()) errors.push_back(&by_step[k]);
    }
    std::size_t steps = errors.empty() ? 0 : errors[0]->size();
    for (const auto* one : errors) steps = std::min(steps, one->size());
    if (steps == 0) continue;
    for (std::size_t i = 0; i < steps; ++i) {
      std::vector<double> logs;
      for (const auto* one : errors) logs.push_back(std::log((*one)[i]));
      add_point(mean, static_cast<double>(i + 1), geometric_mean_over_seeds(logs));
    }
    drop_empty_band(mean);
    for (std::size_t r = 0; r < errors.size() && errors.size() > 1; ++r) {
      Series& one = seeds.emplace_back(seed_line(method, *runs[r]));
      one.x = mean.x;
      one.y.assign(errors[r]->begin(), errors[r]->begin() + static_cast<std::ptrdiff_t>(steps));
    }
    chart.series.push_back(std::move(mean));
  }
  chart.note = notes.text(!chart.series.empty());
  add_apart_note(problem, chart.note);
  add_note(chart.note, last_rounds_text(last));
  std::ranges::move(seeds, std::back_inserter(chart.series));
  return chart;
}

}  // namespace stap
