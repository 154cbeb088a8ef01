// Charts of error bars: how often they hold, and how wide they are.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "report/seeds.h"
#include "stap/config/files.h"
#include "stap/folder/run_folder.h"
#include "stap/results/run_analysis.h"

namespace stap {
namespace {

using config::list_at;
using config::number_at;
using config::text_at;
using config::Value;

bool has_bars_file(const RunResult* run) {
  std::error_code error;
  return std::filesystem::exists(RunFolder(run->folder).bars_file(), error) &&
         std::filesystem::exists(run->folder / "analysis.json", error);
}

// Of each method the first seed whose bars were judged.
void for_judged(const ProblemMethods& problem, Chart& chart,
                const std::function<void(const MethodRuns&, const Value& bars)>& add) {
  for (const MethodRuns& method : problem.methods) {
    const auto run = std::ranges::find_if(method.runs, has_bars_file);
    if (run == method.runs.end()) continue;
    look_at(**run, chart.note, [&] {
      const Value analysis = read_analysis((*run)->folder);
      const Value* bars = analysis.find("error_bars");
      const std::string absent =
          bars == nullptr ? "analysed before it was calibrated" : text_at(*bars, "absent");
      if (!absent.empty()) return add_note(chart.note, fmt::format("{}: {}", method.label, absent));
      add(method, *bars);
    });
  }
  if (chart.series.empty() && chart.note.empty())
    add_note(chart.note, "No networks were calibrated: stap calibrate, then stap analyse");
}

Series line_by_step(const MethodRuns& method, const Value& bars, const char* path, double factor) {
  Series series{.label = method.label, .group = method.group};
  for (const Value& value : list_at(bars, path)) {
    series.x.push_back(static_cast<double>(series.x.size() + 1));
    series.y.push_back(factor * value.real().value_or(std::nan("")));
  }
  return series;
}

}  // namespace

bool has_bars(const ProblemMethods& problem) {
  return std::ranges::any_of(problem.methods, [](const MethodRuns& method) {
    return std::ranges::any_of(method.runs, has_bars_file);
  });
}

Chart coverage_chart(const ProblemMethods& problem) {
  Chart chart{.title = "Do the error bars hold?",
              .x = {.label = "steps since the solver's state", .whole = true},
              .y = {.label = "errors within their bars", .unit = "%", .low = 50, .high = 100}};
  std::vector<Series> guides;
  for_judged(problem, chart, [&](const MethodRuns& method, const Value& bars) {
    chart.series.push_back(line_by_step(method, bars, "first.found.all", 100));
    const double least = number_at(bars, "least"), level = number_at(bars, "level");
    const std::vector<double>& x = chart.series.back().x;
    if (x.empty()) return;
    if (guides.empty())
      guides = {{.label = "asked", .guide = true}, {.label = "least by chance", .guide = true}};
    const double shares[] = {level, least};
    for (std::size_t i = 0; i < guides.size(); ++i) {
      guides[i].x = {x.front(), x.back()};
      guides[i].y = {100 * shares[i], 100 * shares[i]};
    }
    const auto failing = std::ranges::count_if(
        list_at(bars, "first.found.all"),
        [&](const Value& found) { return found.real().value_or(0.0) < least; });
    add_note(chart.note, fmt::format("{}: {:g} % asked, calibrated on {:.0f} trajectories, judged "
                                     "on {:.0f} others{}",
                                     method.label, 100 * level, number_at(bars, "calibrated_on"),
                                     number_at(bars, "judged_on"),
                                     failing == 0 ? ""
                                                  : fmt::format("; too few at {} of {} steps: the "
                                                                "bars do not hold there",
                                                                failing, x.size())));
  });
  std::ranges::move(guides, std::back_inserter(chart.series));
  return chart;
}

Chart bar_width_chart(const ProblemMethods& problem) {
  Chart chart{.title = "How wide are the error bars?",
              .x = {.label = "steps since the solver's state", .whole = true},
              .y = {.label = "bar, median over trajectories", .log = true}};
  for_judged(problem, chart, [&](const MethodRuns& method, const Value& bars) {
    chart.series.push_back(line_by_step(method, bars, "first.bar.all", 1));
  });
  if (!chart.series.empty())
    add_note(chart.note, "For the error sqrt(sum e²/Nx) of all channels; one seed per method");
  return chart;
}

}  // namespace stap
