#include "stap/results/run_analysis.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "results/analysis_cost.h"
#include "results/analysis_summary.h"
#include "results/one_run.h"
#include "results/run_records.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/folder/bars_of.h"
#include "stap/folder/model_of.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr double kUnknownSeconds = std::numeric_limits<double>::quiet_NaN();

// Transitions that every round was trained on.
std::vector<double> training_sizes(const TransitionSet& transitions) {
  std::vector<double> sizes(transitions.acquisitions, 0.0);
  for (const Provenance& origin : transitions.origins)
    for (std::size_t r = origin.acquisition; r < sizes.size(); ++r) sizes[r] += 1;
  return sizes;
}

// Warm-ups of what was chosen until a round; of a round that was not measured, those of the last.
double warm_ups_until(const RunResult& result, std::size_t round) {
  const std::size_t known = result.warm_up_steps.size();
  return known == 0 ? 0.0 : static_cast<double>(result.chosen_warm_ups(std::min(round, known - 1)));
}

// Seconds of solver, training and selection, as this run had them.
CostSeconds measure_seconds(const RunAnalysis& run, const AnalysisOptions& options) {
  const double k = static_cast<double>(run.steps_per_transition);
  CostSeconds seconds;
  double train = 0, trained = 0, select = 0, selections = 0;
  for (std::size_t r = 0; r < run.times.size(); ++r) {
    if (const auto t = run.times[r].find("train"); t != run.times[r].end()) {
      train += t->second;
      trained += run.paid_steps[r];
    }
    if (const auto s = run.times[r].find("select"); s != run.times[r].end()) {
      select += s->second;
      selections += 1;
    }
  }
  seconds.acquire =
      options.solver_seconds.value_or(answer_seconds(RunFolder(run.result.folder)) / k);
  seconds.train = trained > 0 ? train / trained : kUnknownSeconds;
  seconds.select = selections > 0 ? select / selections : kUnknownSeconds;
  return seconds;
}

// What needs test trajectories: the map of activations and the calibration.
void look_at_test_set(RunAnalysis& run, const Surrogate& surrogate,
                      const TransitionSet& transitions, TestSets& test_sets, int threads) {
  if (run.result.test_sha256.empty()) {
    run.activations.absent = run.calibration_absent = kNoTestSet;
    return;
  }
  const TestRows rows = test_rows(run.result, surrogate, test_sets);
  const TrajectoriesView test = rows.view();
  run.activations = map_activations(*surrogate.committee, test, transitions);
  if (!rows.parameters.names.empty()) {
    run.rows.test = rows.parameters;
    run.rows.test_rmse =
        evaluate(*surrogate.committee, test, 256, nullptr, threads).mean_model_by_trajectory;
  }
  if (run.members < 2)
    run.calibration_absent = "a committee of one member has no spread";
  else
    run.calibration = calibrate(*surrogate.committee, test);
  const FoundBars found = find_bars(run.result.folder);
  if (found.bars)
    run.bars = judge_bars(*found.bars, *surrogate.committee, test);
  else if (found.stale)  // without the folder's name: equal folders have equal analyses
    run.bars = JudgedBars{.absent = "calibrated before these networks were trained"};
}

}  // namespace

const TestSet& TestSets::of(const RunResult& run, const Grid& grid) {
  if (hash_ != run.test_sha256 || grid_ != grid) {
    last_ = find_test_set(run, grid);
    hash_ = run.test_sha256;
    grid_ = grid;
  }
  return last_.set;
}

bool can_be_analysed(const RunResult& result) {
  return result.evaluated() > 0 || result.test_sha256.empty();
}

RunAnalysis analyse(RunResult result, const AnalysisOptions& options, TestSets& test_sets) {
  const RunFolder folder(result.folder);
  const StudyOptions study = result.study->options;
  const CommitteeFile model = folder.newest_committee();
  const Surrogate surrogate = load_surrogate(model.path, options.compute, options.threads);

  RunAnalysis run{.result = std::move(result)};
  run.committee_round = model.round;
  run.members = static_cast<std::size_t>(surrogate.committee->members());
  run.steps_per_transition = surrogate.cluster;
  const TransitionSet transitions = folder.read_transitions();
  run.states = {transitions.equation, frame_grid(surrogate.grid(), surrogate.cluster),
                transitions.dt};
  run.training_sizes = training_sizes(transitions);
  if (run.training_sizes.size() < run.result.evaluated())
    throw Error(ErrorKind::data, fmt::format("{} holds {} purchases, but {} rounds were evaluated",
                                             folder.transitions_file().string(),
                                             run.training_sizes.size(), run.result.evaluated()));
  for (std::size_t r = 0; r < run.training_sizes.size(); ++r)
    run.paid_steps.push_back(static_cast<double>(run.steps_per_transition) * run.training_sizes[r] +
                             (run.result.charge_warm_up ? warm_ups_until(run.result, r) : 0.0));
  run.times = times_of(
      folder, run.result.without_errors() ? run.committee_round + 1 : run.result.evaluated());
  // A pool of 0 is all of a file: how many that is nobody needs to know here.
  const std::size_t pool = study.pool > 0 ? study.pool : std::numeric_limits<std::size_t>::max();
  run.chosen = chosen_steps(folder, transitions.acquisitions - 1, pool, study.pattern_steps());
  look_at_test_set(run, surrogate, transitions, test_sets, options.threads);
  if (const auto& draws = surrogate.committee->told().parameters; !draws.empty()) {
    run.rows.pool = find_pool_parameters(run.result);
    run.parameters = analyse_parameters(draws, run.rows, transitions, run.steps_per_transition);
  }
  run.seconds = measure_seconds(run, options);
  run.cost = judge_run(run, options);
  return run;
}

bool RunAnalysis::complete() const {
  return result.without_errors() ? committee_round == result.rounds : result.complete();
}

RunAnalysis analyse_run(RunResult result, const AnalysisOptions& options) {
  if (!can_be_analysed(result))
    throw Error(ErrorKind::data,
                fmt::format("{} has no evaluation yet: let it finish its first round",
                            result.folder.string()));
  TestSets test_sets;
  return analyse(std::move(result), options, test_sets);
}

}  // namespace stap
