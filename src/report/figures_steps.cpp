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

}  // namespace

Chart steps_chart(const ProblemMethods& problem) {
  Chart chart{.title = "How often each time step was bought",
              .y = {.label = "share of trajectories", .low = 0}};
  std::vector<std::size_t> counted;
  for (const MethodRuns& method : problem.methods) {
    std::vector<std::vector<double>> shares;
    for (const RunResult* run : method.runs)
      look_at(*run, chart.note, [&] {
        const ChosenSteps chosen = read_chosen_steps(*run);
        const bool any =
            std::ranges::any_of(chosen.rounds, [](const auto& r) { return !r.empty(); });
        if (any) shares.push_back(chosen.frequency());
      });
    counted.push_back(shares.size());
    if (shares.empty()) continue;
    chart.x = step_axis(*method.runs.front());
    Series series{.label = method.label, .group = method.group};
    for (std::size_t i = 0; i < shares[0].size(); ++i) {
      std::vector<double> values;
      for (const auto& one : shares) values.push_back(one[i]);
      const SeedMean mean = mean_over_seeds(values);
      series.x.push_back(static_cast<double>(i + 1));
      series.y.push_back(mean.mean);
      series.low.push_back(std::isnan(mean.low) ? mean.low : std::clamp(mean.low, 0.0, 1.0));
      series.high.push_back(std::isnan(mean.high) ? mean.high : std::clamp(mean.high, 0.0, 1.0));
    }
    if (shares.size() == 1) series.low = series.high = {};
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty())
    add_note(chart.note, "Nothing was chosen yet");
  else
    add_note(chart.note, bands_text(counted));
  return chart;
}

PictureChart steps_raster(const RunResult& run) {
  PictureChart chart{.title = fmt::format("Bought time steps, {}, seed {}", run.method, run.seed),
                     .note =
                         "Blue: bought from the solver; empty: not bought (the surrogate makes "
                         "those before the last bought step). A line is a trajectory, in the "
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
