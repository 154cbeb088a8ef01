#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "run/bought_rows.h"
#include "run/phases.h"
#include "run/stages.h"
#include "stap/core/resident_rows.h"
#include "stap/eval/extracts.h"
#include "stap/eval/metrics.h"
#include "stap/study/clusters.h"

namespace stap {
namespace {

// A run that an earlier version began says what that would: repairs make the same bytes again.
bool begun_earlier(const Run& run) {
  return config::find_path(run.folder.read_config(), "train.loss") == nullptr;
}

Metrics as_begun(const Run& run, Metrics metrics) {
  if (!begun_earlier(run)) return metrics;
  for (Errors* errors : {static_cast<Errors*>(&metrics), &metrics.mean_model}) {
    errors->rmse_by_channel.clear();
    errors->nrmse_by_channel.clear();
  }
  return metrics;
}

// Errors on the test set; extracts of it go to the folder.
Metrics on_test_set(const Run& run, Committee& committee, const TrajectoriesView& test,
                    int threads) {
  Metrics metrics = as_begun(run, evaluate(committee, test, 256, nullptr, threads));
  const Identity& identity = run.problem->identity;
  run.folder.write_extracts({run.round,
                             take_extracts(committee, test, metrics),
                             {identity.name, identity.grid, identity.dt}});
  return metrics;
}

// The same errors where every step is the mean over the images of the state.
config::Value over_images(const Run& run, Committee& committee, const TrajectoriesView& test,
                          int threads) {
  const std::vector<StateMap> maps = make_images(run.study);
  config::Value value;
  value.set("maps", maps.size());
  const config::Value errors =
      to_value(as_begun(run, evaluate(committee, test, 256, nullptr, threads, maps)));
  for (const config::Value::Member& error : *errors.map()) value.set(error.key, error.value);
  return value;
}

// Trajectories of which something was bought; the first transitions are those that were there
// before.
std::size_t distinct_candidates(const TransitionSet& set, std::size_t first) {
  std::vector<std::size_t> ids;
  for (std::size_t i = first; i < set.count(); ++i) ids.push_back(set.origins[i].candidate);
  std::sort(ids.begin(), ids.end());
  return static_cast<std::size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
}

// What became of the stages of its training.
void add_stages(const Run& run, config::Value& head) {
  config::Value::List errors(run.stage_errors.begin(), run.stage_errors.end());
  head.set("stages", stages_begun(run));
  head.set("kept_stage", run.stage);
  head.set("held_back", config::Value(std::move(errors)));
}

}  // namespace

std::optional<Metrics> on_held_back(const Run& run, Committee& committee) {
  const TransitionSet& set = run.transitions;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < set.count(); ++i)
    if (run.held_back(set.origins[i].candidate)) rows.push_back(i);
  if (rows.empty()) return std::nullopt;
  return as_begun(run, evaluate(committee, BoughtTrajectories(set, rows, 1).view()));
}

void evaluate_round(Run& run, Committee& committee, StatesView<const float> test_states,
                    int threads) {
  config::Value head;
  head.set("run", run.folder.run());
  head.set("round", run.round);
  const std::size_t first = run.problem->first.count();
  head.set("transitions", run.transitions.count() - first);  // that were bought
  if (first > 0) head.set("first", first);
  const std::size_t chosen = distinct_candidates(run.transitions, first);
  head.set("candidates", chosen);
  // A file does not say what led to its initial conditions.
  if (run.study.drawn()) head.set("warm_up_steps", chosen * warm_up_steps(run.study));
  const std::optional<TestSet>& test = run.problem->test;
  TrajectoriesView of_test;
  if (test)
    of_test = {test_states, test->times, run.study.options.cluster,
               conditions_of(test->parameters)};
  const std::optional<Metrics> metrics = timed(run, "evaluate", [&]() -> std::optional<Metrics> {
    if (test) return on_test_set(run, committee, of_test, threads);
    return on_held_back(run, committee);
  });
  if (metrics && !test) head.set("measured_on", "validation");
  if (run.study.options.images)
    head.set("images",
             timed(run, "evaluate", [&] { return over_images(run, committee, of_test, threads); }));
  if (run.study.options.stages > 1) add_stages(run, head);
  if (!begun_earlier(run))
    if (std::string losses = run.folder.keep_losses(run.round); !losses.empty())
      head.set("losses", std::move(losses));
  std::vector<std::string> lines;
  for (JsonLine& line : run.folder.read_metrics()) lines.push_back(std::move(line.text));
  lines.resize(run.round);
  lines.push_back(metrics ? to_json_line(*metrics, std::move(head)) : config::json_text(head, 0));
  run.folder.write_metrics(lines);
  run.evaluated = run.round + 1;
  drop_old_networks(run);
  run.phase = run.round < run.study.options.rounds ? Run::Phase::acquire : Run::Phase::done;
}

}  // namespace stap
