// How long training paid: errors on what is held back, stage by stage.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/seeds.h"

namespace stap {
namespace {

// Round r fills [r, r + 1], as in the chart of losses. Stage s takes 2^s times what the first takes
// (in whole epochs, so that the two charts may differ by one), n of them 2^n - 1 times.
Series stages_line(const MethodRuns& method, const std::vector<RoundStages>& rounds) {
  Series series{.label = method.label, .group = method.group};
  for (const RoundStages& one : rounds) {
    if (one.held_back.empty()) continue;
    const double first = static_cast<double>(one.round);
    if (!series.x.empty()) {  // rounds are trainings of their own, and other data is held back
      series.x.push_back(first);
      series.y.push_back(std::nan(""));
    }
    const int count = static_cast<int>(one.held_back.size());
    for (int s = 0; s < count; ++s) {
      series.x.push_back(first + (std::ldexp(1.0, s + 1) - 1) / (std::ldexp(1.0, count) - 1));
      series.y.push_back(one.held_back[static_cast<std::size_t>(s)]);
    }
  }
  return series;
}

}  // namespace

bool has_stages(const ProblemMethods& problem) {
  for (const MethodRuns& method : problem.methods)
    for (const RunResult* run : method.runs)
      if (!run->stages.empty()) return true;
  return false;
}

Chart stages_chart(const ProblemMethods& problem) {
  Chart chart{.title = "Stages of training",
              .x = {.label = "round", .whole = true, .low = 0},
              .y = {.label = "RMSE on what is held back", .log = true}};
  std::size_t all = 0, thrown = 0;
  bool nothing = false;
  for (const MethodRuns& method : problem.methods) {
    if (method.runs.empty()) continue;
    const RunResult& run = *method.runs.front();
    Series line = stages_line(method, run.stages);
    if (!line.x.empty()) chart.series.push_back(std::move(line));
    std::size_t damaged = 0;
    for (const RoundStages& one : run.stages) {
      all += one.held_back.size();
      thrown += one.thrown_away();
      damaged += one.damaged ? 1 : 0;
      nothing = nothing || (!one.damaged && one.held_back.empty());
    }
    if (damaged > 0)
      add_note(chart.note,
               fmt::format("{} of {} {} left out: what metrics.jsonl says of stages "
                           "there cannot be read",
                           damaged == 1 ? "1 round" : fmt::format("{} rounds", damaged),
                           run.folder.filename().string(), damaged == 1 ? "is" : "are"));
  }
  if (!has_stages(problem)) {
    add_note(chart.note, "No round was trained in stages (study.stages)");
  } else if (!chart.series.empty()) {
    add_note(chart.note,
             "After each stage of training the RMSE of single steps on the candidates that "
             "are held back, mean over members, of the first seed of each method. The "
             "stages of a round lie between its number and the next, each twice as long as "
             "the one before; rounds cannot be compared where they hold back other steps");
    add_note(chart.note, fmt::format("A round ends with its last stage that lowered the error: {} "
                                     "of {} stages {} thrown away",
                                     thrown == 0 ? "none" : fmt::format("{}", thrown), all,
                                     thrown > 1 ? "were" : "was"));
  }
  if (nothing)
    add_note(chart.note, "Rounds in which nothing was held back have one stage and no error here");
  return chart;
}

}  // namespace stap
