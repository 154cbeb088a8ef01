#include "stap/run/run_analysis.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "run/analysis_cost.h"
#include "run/files.h"
#include "stap/core/error.h"
#include "stap/core/resident_rows.h"
#include "stap/eval/activations.h"
#include "stap/journal/journal.h"
#include "stap/run/model_of.h"
#include "stap/run/run.h"
#include "stap/run/study.h"
#include "stap/run/study_data.h"
#include "stap/run/sweep_analysis.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr std::size_t kFullTrajectories = 64;  // enough to see their shape, few enough to draw
constexpr std::size_t kDirections = 8;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Lines of a JSON-lines file; none if there is no file. A line that cannot be read, as a kill while
// it was appended leaves it, is damage or, where `forgiving`, left out.
std::vector<Value> read_lines(const fs::path& path, bool forgiving) {
  std::vector<Value> lines;
  if (!fs::exists(path)) return lines;
  const std::string text = read_text_file(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    try {
      lines.push_back(config::parse_yaml(text.substr(begin, end - begin), path.string()));
    } catch (const Error& error) {
      if (!forgiving) throw Error(ErrorKind::data, error.what());
    }
    begin = end + 1;
  }
  return lines;
}

double number_or_infinite(const Value& value) {
  return value.real().value_or(std::numeric_limits<double>::infinity());
}

ErrorCurves read_errors(const fs::path& folder) {
  const fs::path path = folder / "metrics.jsonl";
  ErrorCurves errors;
  for (const Value& line : read_lines(path, false)) {
    const Value* rmse = line.find("rmse");
    const Value* by_step = line.find("rmse_by_step");
    if (rmse == nullptr || by_step == nullptr || !by_step->is_list())
      throw Error(ErrorKind::data,
                  fmt::format("{} holds a line without rmse and rmse_by_step", path.string()));
    errors.transitions.push_back(field<double>(line, "transitions", path));
    errors.rmse.push_back(number_or_infinite(*rmse));
    std::vector<double>& steps = errors.rmse_by_step.emplace_back();
    for (const Value& value : *by_step->list()) steps.push_back(number_or_infinite(value));
  }
  return errors;
}

std::vector<PhaseSeconds> read_times(const fs::path& folder, std::size_t rounds) {
  std::vector<PhaseSeconds> times(rounds);
  for (const Value& line : read_lines(folder / "timings.jsonl", true)) {
    const Value* round = line.find("round");
    const Value* phase = line.find("phase");
    const Value* seconds = line.find("seconds");
    const auto r = round != nullptr ? round->integer<std::uint64_t>() : std::nullopt;
    if (!r || *r >= rounds || phase == nullptr || phase->text() == nullptr || seconds == nullptr ||
        !seconds->real())
      continue;
    times[*r][*phase->text()] += *seconds->real();
  }
  return times;
}

// plan.json is 1, plan-2.json is 2; 0 if the name is another one.
unsigned pass_of(const std::string& name) {
  constexpr std::string_view start = "plan-", end = ".json";
  if (name == "plan.json") return 1;
  if (!name.starts_with(start) || !name.ends_with(end)) return 0;
  unsigned pass = 0;
  const char* last = name.data() + name.size() - end.size();
  const auto [stop, problem] = std::from_chars(name.data() + start.size(), last, pass);
  return problem == std::errc() && stop == last ? pass : 0;
}

// The plans of a round, in the order of their passes.
std::vector<fs::path> plans_of(const fs::path& round_folder) {
  std::map<unsigned, fs::path> passes;
  for (const auto& entry : fs::directory_iterator(round_folder))
    if (const unsigned pass = pass_of(entry.path().filename().string()); pass > 0)
      passes[pass] = entry.path();
  std::vector<fs::path> paths;
  for (auto& [pass, path] : passes) paths.push_back(std::move(path));
  return paths;
}

ChosenSteps read_chosen(const fs::path& folder, std::size_t rounds, std::size_t pool,
                        std::size_t steps) {
  ChosenSteps chosen{.steps = steps};
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Purchase>& purchases = chosen.rounds.emplace_back();
    for (const fs::path& path : plans_of(folder / "rounds" / fmt::format("{:02}", round))) {
      Plan plan = read_plan(path, pool, steps);
      std::move(plan.purchases.begin(), plan.purchases.end(), std::back_inserter(purchases));
    }
  }
  return chosen;
}

bool finite(std::span<const double> point) {
  return std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
}

// Features of the rows that are finite and that `keep` wants.
template <class Keep>
std::vector<double> finite_rows(const std::vector<double>& features, const Keep& keep) {
  std::vector<double> rows;
  for (std::size_t i = 0; i * kSketchSize < features.size(); ++i) {
    const auto row = std::span(features).subspan(i * kSketchSize, kSketchSize);
    if (keep(i) && finite(row)) rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

// `test`: trajectories of states of which k make one of the committee's.
ActivationMap map_activations(Committee& committee, const TrajectoriesView& test, std::size_t k,
                              const TransitionSet& transitions) {
  const std::size_t calls = test.times / k - 1, values = committee.grid().values();
  ActivationMap map;
  map.trajectories = std::min(kFullTrajectories, test.states.count / test.times);
  map.states_each = calls;
  map.origins = transitions.origins;
  States<float> full(committee.grid(), map.trajectories * calls);
  std::vector<double> full_times(full.count()), bought_times(transitions.count());
  for (std::size_t i = 0; i < full.count(); ++i) {
    const float* start = test.states.row(i / calls * test.times + i % calls * k).data();
    std::copy_n(start, values, full.row(i).begin());
    full_times[i] = input_time(i % calls + 1, calls);
  }
  States<float> bought(committee.grid(), transitions.count());
  convert(transitions.inputs, bought.values());
  for (std::size_t i = 0; i < bought.count(); ++i)
    bought_times[i] = input_time(transitions.origins[i].step + 1, calls);

  const auto full_features = sketched_states(committee, std::as_const(full).view(), full_times);
  const auto bought_features =
      sketched_states(committee, std::as_const(bought).view(), bought_times);
  const auto fitted = finite_rows(full_features, [](std::size_t) { return true; });
  const auto chosen =
      finite_rows(bought_features, [&](std::size_t i) { return map.origins[i].acquisition > 0; });
  if (fitted.size() < 2 * kSketchSize) {
    map.absent = "fewer than two states of test trajectories have finite activations";
    return map;
  }
  map.components = principal_components(fitted, kSketchSize, kDirections);
  map.full = map.components.coordinates(full_features);
  map.bought = map.components.coordinates(bought_features);
  map.full_variance = map.components.total_variance;
  map.bought_variance = total_variance(chosen, kSketchSize);
  return map;
}

// Pool and test set are the same for most runs of a sweep: the last ones are kept.
class TestSets {
 public:
  TestSets(const AnalysisOptions& options, Observer& observer)
      : options_(options), observer_(observer) {}

  const StudyData& of(const Study& study) {
    const DataRequest request = data_request(study.effective);
    const std::string key = study_key(request);
    if (key != key_) {
      const auto solver = make_solver(study, options_.threads);
      data_ = make_study_data(request, *solver, options_.threads, observer_);
      key_ = key;
    }
    return data_;
  }

 private:
  const AnalysisOptions& options_;
  Observer& observer_;
  std::string key_;
  StudyData data_;
};

void warn_of_other_data(const fs::path& folder, const StudyData& data, Observer& observer) {
  const fs::path path = folder / "manifest.json";
  if (field<std::string>(read_document(path), "test_sha256", path) != data.test_sha256)
    observer.warning(
        fmt::format("{} was run with a test set that differs in its bits from the one "
                    "made here (another instruction set?): calibration and "
                    "activations may differ a little",
                    folder.string()));
}

// Seconds of solver, training and selection, as this run had them.
CostSeconds measure_seconds(const RunAnalysis& run, const AnalysisOptions& options) {
  const double k = static_cast<double>(run.steps_per_transition);
  const fs::path path = run.result.folder / "journal.jsonl";
  CostSeconds seconds;
  double solver = 0, answered = 0, train = 0, trained = 0, select = 0, selections = 0;
  for (const JournalLine& line : read_journal(path, "state")) {
    if (line.type != "answer") continue;
    solver += field<double>(line.body, "seconds", path);
    if (field<std::string>(line.body, "status", path) == to_string(Answer::Status::ok))
      answered += k;
  }
  for (std::size_t r = 0; r < run.times.size(); ++r) {
    if (const auto t = run.times[r].find("train"); t != run.times[r].end()) {
      train += t->second;
      trained += k * run.errors.transitions[r];
    }
    if (const auto s = run.times[r].find("select"); s != run.times[r].end()) {
      select += s->second;
      selections += 1;
    }
  }
  seconds.acquire = options.solver_seconds.value_or(answered > 0 ? solver / answered : kNone);
  seconds.train = trained > 0 ? train / trained : kNone;
  seconds.select = selections > 0 ? select / selections : kNone;
  return seconds;
}

RunAnalysis analyse(RunResult result, const AnalysisOptions& options, TestSets& test_sets,
                    Observer& observer) {
  const fs::path folder = result.folder;
  const Study study = make_study(result.config);
  const fs::path model = model_of(folder);
  const Surrogate surrogate = load_surrogate(model, options.compute, options.threads);
  Committee& committee = *surrogate.committee;
  const StudyData& data = test_sets.of(study);
  warn_of_other_data(folder, data, observer);

  RunAnalysis run{.result = std::move(result)};
  run.errors = read_errors(folder);
  run.evaluated = run.errors.rmse.size();
  run.committee_round = std::stoul(model.parent_path().filename().string());
  run.members = static_cast<std::size_t>(committee.members());
  run.steps_per_transition = committee.grid().values() / data.test.grid().values();
  run.times = read_times(folder, run.evaluated);
  const TransitionSet transitions =
      read_transitions(folder / "transitions.h5", committee.grid(), run.steps_per_transition);
  run.chosen = read_chosen(folder, transitions.acquisitions - 1, study.options.pool,
                           study.options.steps / run.steps_per_transition);

  States<float> states(data.test.grid(), data.test.count());
  convert(data.test.values(), states.values());
  const TrajectoriesView test{std::as_const(states).view(), data.test_times};
  run.activations = map_activations(committee, test, run.steps_per_transition, transitions);
  if (run.members < 2)
    run.calibration_absent = "a committee of one member has no spread";
  else
    run.calibration = calibrate(committee, test);
  run.seconds = measure_seconds(run, options);
  run.cost = judge_run(run, options);
  return run;
}

bool evaluated(const RunResult& result) {
  return !result.logs[0].empty();
}

}  // namespace

std::vector<double> ChosenSteps::frequency(std::optional<std::size_t> round) const {
  std::vector<double> counts(steps, 0.0);
  double trajectories = 0;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (round && *round != r) continue;
    for (const Purchase& p : rounds[r]) {
      trajectories += 1;
      for (std::size_t i = 0; i < steps; ++i) counts[i] += p.pattern[i] ? 1.0 : 0.0;
    }
  }
  for (double& c : counts) c = trajectories > 0 ? c / trajectories : 0.0;
  return counts;
}

RunAnalysis analyse_run(const fs::path& folder, const AnalysisOptions& options,
                        Observer& observer) {
  RunResult result = read_result(folder);
  if (!evaluated(result))
    throw Error(
        ErrorKind::data,
        fmt::format("{} has no evaluation yet: let it finish its first round", folder.string()));
  TestSets test_sets(options, observer);
  return analyse(std::move(result), options, test_sets, observer);
}

SweepAnalysis analyse_sweep(const fs::path& folder, const AnalysisOptions& options,
                            Observer& observer) {
  SweepAnalysis sweep{.folder = folder, .runs = {}, .methods = {}};
  std::vector<RunResult> results;
  for (RunResult& result : read_results(folder)) {
    if (evaluated(result))
      results.push_back(std::move(result));
    else
      sweep.left_out.push_back(result.folder.filename().string());
  }
  if (results.empty())
    throw Error(ErrorKind::data, fmt::format("no run in {} has an evaluation yet: let one finish "
                                             "its first round",
                                             folder.string()));
  std::vector<const RunResult*> all;
  for (const RunResult& result : results) all.push_back(&result);
  const std::vector<std::string> names = labels(all);
  TestSets test_sets(options, observer);
  for (std::size_t i = 0; i < results.size(); ++i) {
    observer.progress({.phase = "analyse", .done = i, .total = results.size(), .unit = "runs"});
    sweep.runs.push_back(analyse(std::move(results[i]), options, test_sets, observer));
    auto method = std::find_if(sweep.methods.begin(), sweep.methods.end(),
                               [&](const MethodAnalysis& m) { return m.label == names[i]; });
    if (method == sweep.methods.end())
      method =
          sweep.methods.insert(sweep.methods.end(), {names[i], sweep.runs[i].result.method, {}});
    method->runs.push_back(i);
  }
  observer.progress(
      {.phase = "analyse", .done = sweep.runs.size(), .total = sweep.runs.size(), .unit = "runs"});
  judge_methods(sweep, options);
  return sweep;
}

}  // namespace stap
