// Which time steps were chosen.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/seeds.h"
#include "stap/results/chosen_steps.h"

namespace stap {
namespace {

Axis step_axis(const RunResult& run) {
  return {.label =
              run.cluster == 1 ? "time step" : fmt::format("time step, {} at once", run.cluster)};
}

// By seed, of those that chose anything.
std::vector<std::vector<double>> shares_of(const MethodRuns& method, std::string& note) {
  std::vector<std::vector<double>> shares;
  for (const RunResult* run : method.runs)
    look_at(*run, note, [&] {
      const ChosenSteps chosen = read_chosen_steps(*run);
      const bool any = std::ranges::any_of(chosen.rounds, [](const auto& r) { return !r.empty(); });
      if (any) shares.push_back(chosen.frequency());
    });
  return shares;
}

std::vector<double> at_step(const std::vector<std::vector<double>>& shares, std::size_t step) {
  std::vector<double> values;
  for (const auto& one : shares) values.push_back(one[step]);
  return values;
}

}  // namespace

Chart steps_chart(const ProblemMethods& problem) {
  Chart chart{.title = "How often each time step was bought",
              .y = {.label = "share of trajectories", .low = 0}};
  std::vector<std::size_t> counted;
  std::string whole;  // methods of which there is nothing to see
  for (const MethodRuns& method : problem.methods) {
    const std::vector<std::vector<double>> shares = shares_of(method, chart.note);
    if (shares.empty()) continue;
    chart.x = step_axis(*method.runs.front());
    Series series{.label = method.label, .group = method.group};
    for (std::size_t i = 0; i < shares[0].size(); ++i) {
      const SeedMean mean = mean_over_seeds(at_step(shares, i));
      series.x.push_back(static_cast<double>(i + 1));
      series.y.push_back(mean.mean);
      series.low.push_back(std::isnan(mean.low) ? mean.low : std::clamp(mean.low, 0.0, 1.0));
      series.high.push_back(std::isnan(mean.high) ? mean.high : std::clamp(mean.high, 0.0, 1.0));
    }
    if (shares.size() == 1) series.low = series.high = {};
    if (std::ranges::all_of(series.y, [](double share) { return share == 1; })) {
      whole += (whole.empty() ? "" : ", ") + method.label;
    } else {
      counted.push_back(shares.size());
      chart.series.push_back(std::move(series));
    }
  }
  // Bars are read more easily, where there is one.
  if (chart.series.size() == 1) chart.series[0].mark = Series::Mark::bars;
  add_note(chart.note, bands_text(counted));
  if (!whole.empty()) add_note(chart.note, "Whole trajectories: " + whole);
  if (chart.series.empty() && whole.empty()) add_note(chart.note, "Nothing was chosen yet");
  return chart;
}

std::vector<double> bought_share(const MethodRuns& method) {
  std::string ignored;
  const std::vector<std::vector<double>> shares = shares_of(method, ignored);
  std::vector<double> result;
  for (std::size_t i = 0; !shares.empty() && i < shares[0].size(); ++i)
    result.insert(result.end(), std::max<std::size_t>(method.runs.front()->cluster, 1),
                  mean_over_seeds(at_step(shares, i)).mean);
  return result;
}

PictureChart steps_raster(const RunResult& run) {
  PictureChart chart{.title = fmt::format("Bought time steps, {}, seed {}", run.method, run.seed),
                     .note =
                         "Dark: bought from the solver; empty: not bought (the surrogate makes "
                         "those before the last bought step). A row is a trajectory, in the "
                         "order of purchase",
                     .x = step_axis(run),
                     .y = {.label = "round"},
                     .picture = {.palette = Palette::bought}};
  ChosenSteps chosen;
  look_at(run, chart.note, [&] { chosen = read_chosen_steps(run); });
  Picture& picture = chart.picture;
  picture.width = chosen.steps;
  for (std::size_t r = 0; r < chosen.rounds.size(); ++r) {
    chart.dividers.push_back({static_cast<double>(picture.height), fmt::format("{}", r + 1)});
    for (const Purchase& purchase : chosen.rounds[r]) {
      for (std::size_t i = 0; i < chosen.steps; ++i)
        picture.values.push_back(purchase.pattern[i] ? kTopLevel : 0);
      ++picture.height;
    }
  }
  chart.x_low = 0.5;
  chart.x_high = static_cast<double>(chosen.steps) + 0.5;
  chart.y_low = static_cast<double>(picture.height);
  chart.y_high = 0;
  if (picture.height == 0) {
    picture.width = 0;
    chart.note = "Nothing was chosen yet";
  }
  return chart;
}

}  // namespace stap
