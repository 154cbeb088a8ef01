// analysis.json.
#include <algorithm>

#include "results/analysis_format.h"
#include "results/analysis_summary.h"
#include "stap/eval/statistics.h"
#include "stap/folder/run_folder.h"

namespace stap {
namespace {

using config::list_of;
using config::Value;

constexpr std::size_t kBins = 20;
constexpr const char* kPhases[] = {"train", "evaluate", "select", "score", "choose", "acquire"};

Value number(std::optional<double> value) {
  return value ? Value(*value) : Value();
}

Value chosen_entry(const ChosenSteps& chosen, std::optional<std::size_t> round = std::nullopt) {
  const auto purchases = purchases_of(chosen, round);
  Value value;
  value.set("trajectories", purchases.size());
  value.set("cost", cost_of(purchases));
  value.set("cost_per_trajectory", cost_per_trajectory(purchases));
  value.set("frequency", list_of(chosen.frequency(round)));
  return value;
}

Value chosen_value(const ChosenSteps& chosen) {
  Value::List rounds;
  for (std::size_t r = 0; r < chosen.rounds.size(); ++r) {
    Value row;
    row.set("round", r);
    const Value entry = chosen_entry(chosen, r);
    for (const Value::Member& member : *entry.map()) row.set(member.key, member.value);
    rounds.push_back(std::move(row));
  }
  Value value = chosen_entry(chosen);
  value.set("rounds", Value(std::move(rounds)));
  return value;
}

std::vector<double> explained(const PrincipalComponents& components) {
  std::vector<double> shares;
  for (double v : components.variance)
    shares.push_back(components.total_variance > 0 ? v / components.total_variance : 0.0);
  return shares;
}

Value activations_value(const RunAnalysis& run) {
  const ActivationMap& map = run.activations;
  Value value;
  if (!map.absent.empty()) {
    value.set("absent", map.absent);
    return value;
  }
  value.set("committee_round", run.committee_round);
  value.set("full_trajectories", map.trajectories);
  value.set("full_states", map.trajectories * map.states_each);
  value.set("bought_states", map.origins.size());
  value.set("explained_variance", list_of(explained(map.components)));
  value.set("full_variance", map.full_variance);
  value.set("bought_variance", map.bought_variance);
  return value;
}

Value phases_value(const PhaseSeconds& seconds) {
  Value value;
  for (const char* phase : kPhases) {
    const auto found = seconds.find(phase);
    value.set(phase, found != seconds.end() ? Value(found->second) : Value());
  }
  return value;
}

PhaseSeconds total_seconds(const std::vector<PhaseSeconds>& rounds) {
  PhaseSeconds total;
  for (const PhaseSeconds& round : rounds)
    for (const auto& [phase, seconds] : round) total[phase] += seconds;
  return total;
}

Value times_value(const std::vector<PhaseSeconds>& times) {
  Value::List rounds;
  for (std::size_t r = 0; r < times.size(); ++r) {
    Value row;
    row.set("round", r);
    const Value phases = phases_value(times[r]);
    for (const Value::Member& member : *phases.map()) row.set(member.key, member.value);
    rounds.push_back(std::move(row));
  }
  Value value;
  value.set("total", phases_value(total_seconds(times)));
  value.set("rounds", Value(std::move(rounds)));
  return value;
}

Value errors_value(const RunResult& result) {
  Value value;
  if (result.without_errors()) {
    value.set("absent", kNoTestSet);
    return value;
  }
  Value::List transitions, by_step;
  for (const std::uint64_t n : result.transitions) transitions.emplace_back(static_cast<double>(n));
  for (const auto& round : result.members.rmse_by_step) by_step.push_back(list_of(round));
  value.set("transitions", Value(std::move(transitions)));
  value.set("rmse", list_of(result.members.values_of(Metric::rmse)));
  value.set("rmse_by_step", Value(std::move(by_step)));
  return value;
}

Value parameters_value(const std::vector<ParameterAnalysis>& all) {
  Value::List list;
  for (const ParameterAnalysis& one : all) {
    const bool measured = std::ranges::any_of(one.test, [](std::size_t n) { return n > 0; });
    const bool known = std::ranges::any_of(one.pool, [](std::size_t n) { return n > 0; });
    Value value;
    value.set("name", one.bins.draw.name);
    value.set("draw", to_string(one.bins.draw.kind));
    value.set(one.bins.is_list() ? "values" : "edges", list_of(one.bins.edges));
    value.set("test_trajectories", measured ? list_of(one.test) : Value());
    value.set("rmse", measured ? list_of(one.rmse) : Value());
    value.set("pool", known ? list_of(one.pool) : Value());
    value.set("chosen_trajectories", list_of(one.chosen));
    value.set("bought_steps", list_of(one.steps));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Value calibration_value(const RunAnalysis& run) {
  Value value;
  if (!run.calibration) {
    value.set("absent", run.calibration_absent);
    return value;
  }
  const Calibration& calibration = *run.calibration;
  value.set("committee_round", run.committee_round);
  value.set("trajectories", calibration.trajectories);
  value.set("steps", calibration.steps);
  value.set("diverged", diverged(calibration));
  const std::pair<const char*, const std::vector<double>*> errors[] = {
      {"mean_error", &calibration.mean_error}, {"member_error", &calibration.member_error}};
  Value correlation;
  for (const auto& [name, error] : errors) {
    const RankCorrelations ranks = rank_correlations(calibration, *error);
    Value entry;
    entry.set("overall", ranks.overall);
    entry.set("by_step", list_of(ranks.by_step));
    correlation.set(name, std::move(entry));
  }
  value.set("rank_correlation", std::move(correlation));
  Value::List bins;
  for (const CalibrationBin& bin : quantile_bins(calibration, kBins)) {
    Value row;
    row.set("count", bin.count);
    row.set("spread", bin.spread);
    row.set("mean_error", bin.mean_error);
    row.set("member_error", bin.member_error);
    bins.push_back(std::move(row));
  }
  value.set("bins", Value(std::move(bins)));
  return value;
}

Value cost_value(const CostAnalysis& cost) {
  const CostTerms& terms = cost.terms;
  Value value;
  value.set("initial", terms.initial);
  value.set("budget", terms.budget);
  value.set("rounds", terms.rounds);
  value.set("acquire_seconds_per_step", terms.acquire);
  value.set("train_seconds_per_step", terms.train);
  value.set("select_seconds_per_round", terms.select);
  value.set("efficiency", number(cost.efficiency));
  const auto& v = cost.verdict;
  value.set("pays", v ? Value(v->pays()) : Value());
  value.set("even", v ? Value(v->even()) : Value());
  value.set("baseline_seconds", v ? Value(v->baseline_seconds) : Value());
  value.set("active_seconds", v ? Value(v->active_seconds) : Value());
  value.set("active_rounds", v ? Value(v->active_rounds) : Value());
  // Infinite, that is never, is null in JSON; `pays` and the text tell it from unknown.
  value.set("turning_seconds_per_step", v ? Value(v->turning_acquire) : Value());
  value.set("verdict", cost.text);
  return value;
}

Value summary_value(const std::vector<double>& values) {
  Value value;
  const Summary s = summarise(values);
  value.set("mean", s.count > 0 ? Value(s.mean) : Value());
  value.set("sd", s.count > 1 ? Value(s.deviation) : Value());
  return value;
}

Value method_value(const SweepAnalysis& sweep, const MethodAnalysis& method) {
  const auto runs = runs_of(sweep, method);
  const ChosenSteps chosen = all_chosen(runs);
  std::vector<std::uint64_t> seeds;
  std::size_t incomplete = 0;
  for (const RunAnalysis* run : runs) {
    seeds.push_back(run->result.seed);
    incomplete += run->complete() ? 0 : 1;
  }
  Value seconds;
  for (const char* phase : kPhases)
    seconds.set(phase, summary_value(values_of(runs, [&](const RunAnalysis& run) {
                  return seconds_per_round(run.times, phase);
                })));
  Value::List by_seed;
  for (const SeedEfficiency& one : method.by_seed) {
    Value row;
    row.set("seed", one.seed);
    row.set("efficiency", number(one.efficiency));
    by_seed.push_back(std::move(row));
  }
  Value cost = cost_value(method.cost);
  cost.set("baseline", method.baseline.empty() ? Value() : Value(method.baseline));
  cost.set("compared_evaluations", method.compared);
  cost.set("errors_of", method.errors_of == ErrorsOf::mean_model ? "mean_model" : "members");
  cost.set("efficiency_by_seed", Value(std::move(by_seed)));
  cost.set("efficiency_with_warm_ups", number(method.cost.efficiency_with_warm_ups));
  cost.set("guess", method.guess.empty() ? Value() : Value(method.guess));

  Value value;
  value.set("label", method.label);
  value.set("method", method.method);
  value.set("seeds", list_of(seeds));
  value.set("incomplete", incomplete);
  value.set("chosen", chosen_entry(chosen));
  value.set("relative_variance", summary_value(values_of(runs, relative_variance)));
  value.set("seconds_per_round", std::move(seconds));
  value.set("last_rmse_by_step", list_of(last_error_by_step(runs)));
  value.set("parameters", parameters_value(all_parameters(runs)));
  value.set("rank_correlation", summary_value(values_of(runs, overall_correlation)));
  value.set("cost", std::move(cost));
  return value;
}

}  // namespace

Value to_value(const RunAnalysis& run) {
  Value value;
  value.set("format", kAnalysisFormat);
  value.set("kind", "run");
  if (const std::string id = RunFolder(run.result.folder).run(); !id.empty()) value.set("run", id);
  value.set("method", run.result.method);
  value.set("seed", run.result.seed);
  value.set("steps", run.result.steps);
  value.set("steps_per_transition", run.steps_per_transition);
  value.set("members", run.members);
  value.set("rounds", run.result.rounds);
  value.set("evaluated", run.result.evaluated());
  value.set("complete", run.complete());
  value.set("note", note_of(run));
  value.set("chosen", chosen_value(run.chosen));
  value.set("activations", activations_value(run));
  value.set("times", times_value(run.times));
  value.set("errors", errors_value(run.result));
  value.set("parameters", parameters_value(run.parameters));
  value.set("calibration", calibration_value(run));
  if (run.bars) value.set("error_bars", to_value(*run.bars));
  value.set("cost", cost_value(run.cost));
  return value;
}

Value to_value(const SweepAnalysis& sweep) {
  Value value;
  value.set("format", kAnalysisFormat);
  value.set("kind", "sweep");
  std::vector<std::string> names;
  for (const RunAnalysis& run : sweep.runs) names.push_back(run.result.folder.filename().string());
  value.set("runs", list_of(names));
  value.set("left_out", list_of(sweep.left_out));
  Value::List methods;
  for (const MethodAnalysis& method : sweep.methods) methods.push_back(method_value(sweep, method));
  value.set("methods", Value(std::move(methods)));
  return value;
}

}  // namespace stap
