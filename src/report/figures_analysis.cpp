// Charts of what `stap analyse` has computed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/seeds.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/results/run_analysis.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::list_at;
using config::number_at;
using config::text_at;
using config::Value;

constexpr std::size_t kPointsMost = 2000;   // of a series
constexpr std::size_t kPairsOfALine = 200;  // ten for each part
constexpr const char* kNotAnalysed = "No run was analysed: stap analyse does it";

bool is_analysed(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "analysis.json", error);
}

// Evenly spaced ones of n.
std::vector<std::size_t> sample(std::size_t n, std::size_t most) {
  std::vector<std::size_t> places;
  const std::size_t count = std::min(n, most);
  for (std::size_t i = 0; i < count; ++i) places.push_back(i * n / count);
  return places;
}

Series points_of(std::string label, std::size_t group) {
  return {.label = std::move(label), .group = group, .mark = Series::Mark::points};
}

// Points [n, K] along the first two directions, those that `takes` wants.
template <class Takes>
Series map_points(std::string label, std::size_t group, const Array<double>& points,
                  const Takes& takes) {
  Series series = points_of(std::move(label), group);
  const std::size_t directions = points.shape.at(1);
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < points.shape[0]; ++i)
    if (takes(i)) wanted.push_back(i);
  for (const std::size_t i : sample(wanted.size(), kPointsMost)) {
    series.x.push_back(points.values[wanted[i] * directions]);
    series.y.push_back(directions > 1 ? points.values[wanted[i] * directions + 1] : 0.0);
  }
  return series;
}

// Of y.
std::pair<double, double> range_of(const std::vector<Series>& all) {
  std::pair<double, double> range{INFINITY, 0};
  for (const Series& series : all)
    for (const double v : series.y) range = {std::min(range.first, v), std::max(range.second, v)};
  return range;
}

std::string direction_label(const Value& analysis, std::size_t direction) {
  const Value::List& shares = list_at(analysis, "activations.explained_variance");
  const double share =
      direction < shares.size() ? shares[direction].real().value_or(std::nan("")) : std::nan("");
  return std::isnan(share)
             ? fmt::format("direction {}", direction + 1)
             : fmt::format("direction {}, {:.0f} % of the variance", direction + 1, 100 * share);
}

}  // namespace

Chart calibration_chart(const ProblemMethods& problem) {
  Chart chart{.title = "Does the committee know its error?",
              .x = {.label = "spread of the members", .log = true},
              .y = {.label = "error of their mean", .log = true}};
  const std::size_t each = kPointsMost / std::max<std::size_t>(problem.methods.size(), 1);
  std::vector<Series> bins;
  std::string ranks;
  bool few = false;
  for (const MethodRuns& method : problem.methods) {
    const auto run = std::ranges::find_if(
        method.runs, [](const RunResult* one) { return is_analysed(one->folder); });
    if (run == method.runs.end()) continue;
    look_at(**run, chart.note, [&] {
      const Value analysis = read_analysis((*run)->folder);
      if (const std::string why = text_at(analysis, "calibration.absent"); !why.empty()) {
        add_note(chart.note, fmt::format("{}: {}", method.label, why));
        return;
      }
      const fs::path arrays = analysis_arrays((*run)->folder, analysis);
      const auto spread = read_array(arrays, "calibration_spread").values;
      const auto error = read_array(arrays, "calibration_mean_error").values;
      if (spread.size() != error.size())
        throw Error(ErrorKind::data,
                    fmt::format("{}: its calibration does not fit together", arrays.string()));
      Series points = points_of(method.label, method.group);
      for (const std::size_t i : sample(spread.size(), each)) {
        if (!std::isfinite(spread[i])) continue;  // diverged
        points.x.push_back(spread[i]);
        points.y.push_back(error[i]);
      }
      Series line{.label = method.label, .group = method.group};
      // Means of a few pairs go up and down by chance.
      const bool enough = spread.size() >= kPairsOfALine;
      few = few || !enough;
      if (enough)
        for (const Value& bin : list_at(analysis, "calibration.bins")) {
          line.x.push_back(number_at(bin, "spread"));
          line.y.push_back(number_at(bin, "mean_error"));
        }
      const double rank = number_at(analysis, "calibration.rank_correlation.mean_error.overall");
      ranks +=
          fmt::format("{}{} {} (seed {})", ranks.empty() ? "" : ", ", method.label,
                      std::isnan(rank) ? "not known" : fmt::format("{:.2f}", rank), (*run)->seed);
      chart.series.push_back(std::move(points));
      if (enough) bins.push_back(std::move(line));
    });
  }
  if (chart.series.empty()) {
    if (chart.note.empty()) add_note(chart.note, kNotAnalysed);
    return chart;
  }
  double low = INFINITY, high = 0;
  for (const Series& series : chart.series)
    for (const double v : series.x) {
      if (v > 0) low = std::min(low, v);
      high = std::max(high, v);
    }
  const bool bins_drawn = !bins.empty();
  std::ranges::move(bins, std::back_inserter(chart.series));
  if (low < high)
    chart.series.push_back(
        {.label = "error = spread", .guide = true, .x = {low, high}, .y = {low, high}});
  add_note(chart.note,
           fmt::format("Dots: steps of test trajectories{}. One seed per method, here and in the "
                       "rank correlations: {}",
                       bins_drawn ? " (a sample); lines: means of 20 equal parts, by spread" : "",
                       ranks));
  if (few)
    add_note(chart.note,
             fmt::format("No lines of means where there are fewer than {} dots", kPairsOfALine));
  return chart;
}

Chart activations_chart(const RunResult& run, std::size_t group) {
  Chart chart{.title = fmt::format("Hidden activations, {}, seed {}", run.method, run.seed)};
  if (!is_analysed(run.folder)) {
    chart.note = kNotAnalysed;
    return chart;
  }
  look_at(run, chart.note, [&] {
    const Value analysis = read_analysis(run.folder);
    if (const std::string why = text_at(analysis, "activations.absent"); !why.empty()) {
      add_note(chart.note, why);
      return;
    }
    const fs::path arrays = analysis_arrays(run.folder, analysis);
    const Array<double> full = read_array(arrays, "activations_full");
    const Array<double> bought = read_array(arrays, "activations_bought");
    const auto acquisition = read_array(arrays, "activations_bought_acquisition").values;
    if (full.shape.size() != 2 || bought.shape.size() != 2 || full.shape[1] == 0 ||
        bought.shape[1] == 0 || acquisition.size() != bought.shape[0])
      throw Error(ErrorKind::data,
                  fmt::format("{}: its activations do not fit together", arrays.string()));
    chart.x.label = direction_label(analysis, 0);
    chart.y.label = direction_label(analysis, 1);
    chart.series.push_back(
        map_points("test trajectories", kNoMethod, full, [](std::size_t) { return true; }));
    chart.series.push_back(map_points("initial", kNoMethod + 1, bought,
                                      [&](std::size_t i) { return acquisition[i] == 0; }));
    chart.series.push_back(
        map_points("bought", group, bought, [&](std::size_t i) { return acquisition[i] > 0; }));
    add_note(chart.note,
             "States along the two directions in which the committee's activations on "
             "test trajectories vary most; at most 2000 of each kind");
  });
  return chart;
}

CostTerms cost_terms(const Value& cost) {
  return {.initial = number_at(cost, "initial"),
          .budget = number_at(cost, "budget"),
          .rounds = number_at(cost, "rounds"),
          .efficiency = number_at(cost, "efficiency"),
          .acquire = number_at(cost, "acquire_seconds_per_step"),
          .train = number_at(cost, "train_seconds_per_step"),
          .select = number_at(cost, "select_seconds_per_round")};
}

std::vector<MethodCost> read_costs(const fs::path& sweep, const ProblemMethods& problem) {
  std::vector<MethodCost> costs;
  if (!is_analysed(sweep)) return costs;
  const Value analysis = read_analysis(sweep);
  for (const Value& entry : list_at(analysis, "methods")) {
    const auto method =
        std::ranges::find(problem.methods, text_at(entry, "label"), &MethodRuns::label);
    const std::string baseline = text_at(entry, "cost.baseline");
    if (method != problem.methods.end() && !baseline.empty())
      costs.push_back({method->label, baseline, method->group, cost_terms(*entry.find("cost"))});
  }
  return costs;
}

Chart cost_chart(std::span<const MethodCost> costs) {
  constexpr int kPoints = 60;
  Chart chart{.title = "When active learning pays",
              .x = {.label = "cost of a solver step", .unit = "s", .log = true},
              .y = {.label = "speed-up", .log = true}};
  const auto known = [](const CostTerms& t) {
    return t.efficiency > 0 && std::isfinite(t.acquire + t.train + t.select + t.efficiency);
  };
  double low = INFINITY, high = 0;
  for (const MethodCost& cost : costs) {
    if (!known(cost.terms)) {
      add_note(chart.note, fmt::format("{}: its data efficiency is not known", cost.label));
      continue;
    }
    for (const double seconds : {cost.terms.acquire, judge_cost(cost.terms).turning_acquire})
      if (seconds > 0 && std::isfinite(seconds)) {
        low = std::min(low, seconds);
        high = std::max(high, seconds);
      }
  }
  if (!(low <= high)) {
    if (costs.empty())
      add_note(chart.note, "No baseline to compare with, or no analysis of the sweep");
    return chart;
  }
  low = std::pow(10.0, std::floor(std::log10(low)) - 1);
  high = std::pow(10.0, std::ceil(std::log10(high)) + 1);
  std::vector<Series> here;
  for (const MethodCost& cost : costs) {
    if (!known(cost.terms)) continue;
    const auto faster = [&](double seconds) {
      CostTerms terms = cost.terms;
      terms.acquire = seconds;
      const CostVerdict verdict = judge_cost(terms);
      return verdict.baseline_seconds / verdict.active_seconds;
    };
    Series series{.label = cost.label, .group = cost.group};
    for (int i = 0; i <= kPoints; ++i) {
      series.x.push_back(low * std::pow(high / low, static_cast<double>(i) / kPoints));
      series.y.push_back(faster(series.x.back()));
    }
    chart.series.push_back(std::move(series));
    if (cost.terms.acquire > 0) {
      Series& point = here.emplace_back(points_of("", cost.group));
      point.x = {cost.terms.acquire};
      point.y = {faster(cost.terms.acquire)};
    }
  }
  std::ranges::move(here, std::back_inserter(chart.series));
  // The line at 1 has room and a number on either side: of several decades only powers of ten have
  // one.
  const auto [slowest, fastest] = range_of(chart.series);
  chart.y.low = fastest > 30 ? 0.1 : 0.3;
  chart.y.high = slowest < 0.03 ? 10 : 3;
  chart.series.push_back({.label = "same time", .guide = true, .x = {low, high}, .y = {1, 1}});
  add_note(chart.note,
           "Speed-up: the baseline's time to its last error over the method's; the marks are the "
           "solver as it was. Above the line, where both take the same time, it pays");
  return chart;
}

}  // namespace stap
