#include "report/page_room.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stap {
namespace {

// Whether there were any.
bool drop_seeds(ReportProblem& problem) {
  std::size_t dropped = 0;
  for (ReportChart& chart : problem.charts)
    for (Chart& variant : chart.variants) dropped += std::erase_if(variant.series, &Series::seed);
  return dropped > 0;
}

bool drop_variants(ReportProblem& problem) {
  bool any = false;
  for (ReportChart& chart : problem.charts) {
    any = any || chart.variants.size() > 1;
    chart.variants.resize(1);
  }
  return any;
}

bool drop_trajectories(ReportProblem& problem) {
  const bool any = !problem.fields.empty();
  problem.fields.clear();
  problem.fields_left_out = problem.fields_left_out || any;
  return any;
}

bool drop_maps(ReportProblem& problem) {
  bool any = false;
  for (ReportMethod& method : problem.methods) {
    any = any || !method.charts.empty() || !method.pictures.empty();
    method.charts.clear();
    method.pictures.clear();
  }
  return any;
}

bool drop_all_charts_but_errors(ReportProblem& problem) {
  return std::erase_if(problem.charts,
                       [](const ReportChart& chart) { return chart.id != "errors"; }) > 0;
}

bool drop_charts(ReportProblem& problem) {
  return std::exchange(problem.charts, {}).size() > 0;
}

struct Step {
  bool (*drop)(ReportProblem&);
  const char* what;
};
constexpr Step kSteps[] = {{drop_seeds, "single seeds in charts"},
                           {drop_variants, "charts of other metrics and of the members"},
                           {drop_trajectories, "trajectories"},
                           {drop_maps, "maps of activations and of chosen steps"},
                           {drop_all_charts_but_errors, "all charts but those of errors"},
                           {drop_charts, "charts"}};

}  // namespace

bool leave_out(Report& report, PageRoom& room) {
  for (const Step& step : kSteps) {
    bool any = false;
    for (ReportProblem& problem : report.problems) any = step.drop(problem) || any;
    if (!any) continue;
    room.kinds += (room.kinds.empty() ? "" : "; ") + std::string(step.what);
    room.words = room.kinds;
    return true;
  }
  if (room.problems == 0 && room.runs == 0) return false;
  // Everything that is left of some of them; the last problem goes behind the runs.
  room.problems = std::min(room.problems, report.problems.size());
  if (room.problems > 1 || room.runs == 0) room.problems /= 2;
  room.runs = std::min(room.runs, report.runs.size()) / 2;
  room.words = room.kinds;
  if (room.problems < report.problems.size())
    room.words += fmt::format("; problems after the first {} ({})", room.problems,
                              report.problems.size() - room.problems);
  room.words += fmt::format("; {} of the {} runs in the list", report.runs.size() - room.runs,
                            report.runs.size());
  return true;
}

}  // namespace stap
