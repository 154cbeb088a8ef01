// analysis.json, analysis.h5 and the summary in words.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/committee.h"
#include "stap/data/array_file.h"
#include "stap/run/sweep_analysis.h"

namespace stap {
namespace {

using config::Value;

constexpr const char* kFormat = "analysis/1";
constexpr std::size_t kBins = 20;
constexpr const char* kPhases[] = {"train", "evaluate", "select", "score", "choose", "acquire"};

template <class T>
Value list_of(const std::vector<T>& values) {
  return Value(Value::List(values.begin(), values.end()));
}

Value number(std::optional<double> value) {
  return value ? Value(*value) : Value();
}

// --- chosen steps ---

// Purchases of a round, or of all.
std::vector<const Purchase*> purchases_of(const ChosenSteps& chosen,
                                          std::optional<std::size_t> round = std::nullopt) {
  std::vector<const Purchase*> purchases;
  for (std::size_t r = 0; r < chosen.rounds.size(); ++r)
    if (!round || *round == r)
      for (const Purchase& p : chosen.rounds[r]) purchases.push_back(&p);
  return purchases;
}

std::size_t cost_of(const std::vector<const Purchase*>& purchases) {
  std::size_t cost = 0;
  for (const Purchase* p : purchases) cost += p->pattern.cost();
  return cost;
}

// NaN, which is null in JSON, if there is none.
double cost_per_trajectory(const std::vector<const Purchase*>& purchases) {
  return static_cast<double>(cost_of(purchases)) / static_cast<double>(purchases.size());
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

// --- activations ---

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

// --- times ---

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

// Mean seconds of a phase over the rounds that recorded it; empty if none did.
std::optional<double> seconds_per_round(const std::vector<PhaseSeconds>& rounds,
                                        const std::string& phase) {
  std::vector<double> known;
  for (const PhaseSeconds& round : rounds)
    if (const auto found = round.find(phase); found != round.end()) known.push_back(found->second);
  if (known.empty()) return std::nullopt;
  return summarise(known).mean;
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

// --- errors, calibration, cost ---

Value errors_value(const ErrorCurves& errors) {
  Value::List by_step;
  for (const auto& round : errors.rmse_by_step) by_step.push_back(list_of(round));
  Value value;
  value.set("transitions", list_of(errors.transitions));
  value.set("rmse", list_of(errors.rmse));
  value.set("rmse_by_step", Value(std::move(by_step)));
  return value;
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
  value.set("baseline_seconds", v ? Value(v->baseline_seconds) : Value());
  value.set("active_seconds", v ? Value(v->active_seconds) : Value());
  value.set("active_rounds", v ? Value(v->active_rounds) : Value());
  // Infinite, that is never, is null in JSON; `pays` and the text tell it from unknown.
  value.set("turning_seconds_per_step", v ? Value(v->turning_acquire) : Value());
  value.set("verdict", cost.text);
  return value;
}

std::string note_of(const RunAnalysis& run) {
  if (run.result.complete()) return {};
  return fmt::format(
      "not finished: {} of {} evaluations and {} of {} purchases are complete; "
      "the committee is that of round {}",
      run.evaluated, run.result.rounds + 1, run.chosen.rounds.size(), run.result.rounds,
      run.committee_round);
}

// --- a sweep's means over seeds ---

Value summary_value(const std::vector<double>& values) {
  Value value;
  const Summary s = summarise(values);
  value.set("mean", s.count > 0 ? Value(s.mean) : Value());
  value.set("sd", s.count > 1 ? Value(s.deviation) : Value());
  return value;
}

std::vector<const RunAnalysis*> runs_of(const SweepAnalysis& sweep, const MethodAnalysis& method) {
  std::vector<const RunAnalysis*> runs;
  for (std::size_t r : method.runs) runs.push_back(&sweep.runs[r]);
  return runs;
}

ChosenSteps all_chosen(const std::vector<const RunAnalysis*>& runs) {
  ChosenSteps all{.steps = runs[0]->chosen.steps};
  for (const RunAnalysis* run : runs)
    all.rounds.insert(all.rounds.end(), run->chosen.rounds.begin(), run->chosen.rounds.end());
  return all;
}

std::vector<double> values_of(const std::vector<const RunAnalysis*>& runs,
                              const std::function<std::optional<double>(const RunAnalysis&)>& of) {
  std::vector<double> values;
  for (const RunAnalysis* run : runs)
    if (const auto value = of(*run); value && !std::isnan(*value)) values.push_back(*value);
  return values;
}

std::optional<double> overall_correlation(const RunAnalysis& run) {
  if (!run.calibration) return std::nullopt;
  return rank_correlations(*run.calibration, run.calibration->mean_error).overall;
}

std::optional<double> relative_variance(const RunAnalysis& run) {
  if (!run.activations.absent.empty()) return std::nullopt;
  return run.activations.bought_variance / run.activations.full_variance;
}

// Geometric mean over runs of the last error by step, of the evaluations that all of them have.
std::vector<double> last_error_by_step(const std::vector<const RunAnalysis*>& runs) {
  std::size_t n = runs[0]->evaluated;
  for (const RunAnalysis* run : runs) n = std::min(n, run->evaluated);
  std::vector<double> logs(runs[0]->errors.rmse_by_step[n - 1].size(), 0.0);
  for (const RunAnalysis* run : runs)
    for (std::size_t i = 0; i < logs.size(); ++i)
      logs[i] += std::log(run->errors.rmse_by_step[n - 1][i]) / static_cast<double>(runs.size());
  for (double& l : logs) l = std::exp(l);
  return logs;
}

Value method_value(const SweepAnalysis& sweep, const MethodAnalysis& method) {
  const auto runs = runs_of(sweep, method);
  const ChosenSteps chosen = all_chosen(runs);
  std::vector<std::uint64_t> seeds;
  std::size_t incomplete = 0;
  for (const RunAnalysis* run : runs) {
    seeds.push_back(run->result.seed);
    incomplete += run->result.complete() ? 0 : 1;
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
  cost.set("efficiency_by_seed", Value(std::move(by_seed)));

  Value value;
  value.set("label", method.label);
  value.set("method", method.method);
  value.set("seeds", list_of(seeds));
  value.set("incomplete", incomplete);
  value.set("chosen", chosen_entry(chosen));
  value.set("relative_variance", summary_value(values_of(runs, relative_variance)));
  value.set("seconds_per_round", std::move(seconds));
  value.set("last_rmse_by_step", list_of(last_error_by_step(runs)));
  value.set("rank_correlation", summary_value(values_of(runs, overall_correlation)));
  value.set("cost", std::move(cost));
  return value;
}

// --- words ---

std::string chosen_text(const ChosenSteps& chosen) {
  const auto purchases = purchases_of(chosen);
  if (purchases.empty()) return "none yet";
  const double mean = cost_per_trajectory(purchases);
  return fmt::format("{} trajectories, {:.1f} of {} steps each ({:.0f} %)", purchases.size(), mean,
                     chosen.steps, 100.0 * mean / static_cast<double>(chosen.steps));
}

std::string mean_text(const std::vector<double>& values, const char* unknown) {
  return values.empty() ? std::string(unknown) : fmt::format("{:.3g}", summarise(values).mean);
}

// How far the seeds agree about the efficiency; "?" where a seed does not tell it.
std::string by_seed_text(const MethodAnalysis& method) {
  if (method.by_seed.size() < 2) return {};
  std::string text = " (by seed";
  for (const SeedEfficiency& one : method.by_seed)
    text += one.efficiency ? fmt::format(" {:.2f}", *one.efficiency) : " ?";
  return text + ")";
}

std::string words(const std::vector<const RunAnalysis*>& runs, const std::string& cost) {
  const auto per_round = [&](const char* phase) {
    return mean_text(
        values_of(runs,
                  [&](const RunAnalysis& run) { return seconds_per_round(run.times, phase); }),
        "?");
  };
  const std::vector<double> error = last_error_by_step(runs);
  const auto correlations = values_of(runs, overall_correlation);
  std::string text;
  const auto line = [&](const char* name, const std::string& what) {
    text += fmt::format("  {:<14}{}\n", name, what);
  };
  line("chosen steps", chosen_text(all_chosen(runs)));
  line("activations",
       fmt::format("the variance of bought states is {} times that of full trajectories",
                   mean_text(values_of(runs, relative_variance), "?")));
  line("seconds", fmt::format("{} of training a round, {} of selection ({} scoring, {} choosing "
                              "steps), {} of buying",
                              per_round("train"), per_round("select"), per_round("score"),
                              per_round("choose"), per_round("acquire")));
  line("error", fmt::format("{:.3g} at step 1, {:.3g} at step {}", error.front(), error.back(),
                            error.size()));
  line("calibration", correlations.empty() ? runs[0]->calibration_absent
                                           : fmt::format("rank correlation of spread and error {}",
                                                         mean_text(correlations, "?")));
  line("cost", cost);
  return text;
}

}  // namespace

Value to_value(const RunAnalysis& run) {
  Value value;
  value.set("format", kFormat);
  value.set("kind", "run");
  value.set("method", run.result.method);
  value.set("seed", run.result.seed);
  value.set("steps", run.result.steps);
  value.set("steps_per_transition", run.steps_per_transition);
  value.set("members", run.members);
  value.set("rounds", run.result.rounds);
  value.set("evaluated", run.evaluated);
  value.set("complete", run.result.complete());
  value.set("note", note_of(run));
  value.set("chosen", chosen_value(run.chosen));
  value.set("activations", activations_value(run));
  value.set("times", times_value(run.times));
  value.set("errors", errors_value(run.errors));
  value.set("calibration", calibration_value(run));
  value.set("cost", cost_value(run.cost));
  return value;
}

Value to_value(const SweepAnalysis& sweep) {
  Value value;
  value.set("format", kFormat);
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

std::string analysis_text(const RunAnalysis& run) {
  const std::string note = note_of(run);
  return fmt::format("{}, seed {}\n{}{}", run.result.method, run.result.seed,
                     words({&run}, run.cost.text), note.empty() ? "" : "  " + note + "\n");
}

std::string analysis_text(const SweepAnalysis& sweep) {
  std::string text;
  for (const MethodAnalysis& method : sweep.methods) {
    const auto runs = runs_of(sweep, method);
    std::string cost = method.cost.text;
    if (method.cost.efficiency)
      cost = fmt::format("data efficiency {:.2f}{}; {}", *method.cost.efficiency,
                         by_seed_text(method), cost);
    text += fmt::format("{}, {} seed{}\n{}", method.label, runs.size(), runs.size() == 1 ? "" : "s",
                        words(runs, cost));
    for (const RunAnalysis* run : runs)
      if (const std::string note = note_of(*run); !note.empty())
        text += fmt::format("  seed {} is {}\n", run->result.seed, note);
  }
  for (const std::string& name : sweep.left_out)
    text += fmt::format("{} has no evaluation yet and is left out\n", name);
  return text;
}

void write_analysis(const RunAnalysis& run) {
  const ChosenSteps& chosen = run.chosen;
  const std::size_t purchases = purchases_of(chosen).size(), l = chosen.steps;
  std::vector<double> round, candidate, frequency;
  std::vector<std::uint8_t> pattern;
  for (std::size_t r = 0; r < chosen.rounds.size(); ++r) {
    for (const Purchase& p : chosen.rounds[r]) {
      round.push_back(static_cast<double>(r));
      candidate.push_back(static_cast<double>(p.candidate));
      for (std::size_t i = 0; i < l; ++i) pattern.push_back(p.pattern[i] ? 1 : 0);
    }
    const auto of_round = chosen.frequency(r);
    frequency.insert(frequency.end(), of_round.begin(), of_round.end());
  }
  std::vector<double> by_step;
  for (const auto& one : run.errors.rmse_by_step)
    by_step.insert(by_step.end(), one.begin(), one.end());

  ArrayWriter writer(run.result.folder / "analysis.h5");
  writer.add_text_attribute("format", kFormat);
  writer.add("chosen_round", {purchases}, round);
  writer.add("chosen_candidate", {purchases}, candidate);
  writer.add_bytes("chosen_pattern", {purchases, l}, pattern);
  writer.add("chosen_frequency", {chosen.rounds.size(), l}, frequency);
  writer.add("errors_transitions", {run.evaluated}, run.errors.transitions);
  writer.add("errors_rmse", {run.evaluated}, run.errors.rmse);
  writer.add("errors_rmse_by_step", {run.evaluated, by_step.size() / run.evaluated}, by_step);

  const ActivationMap& map = run.activations;
  const std::size_t k = map.components.count(), full = map.trajectories * map.states_each;
  const std::size_t bought = map.origins.size();
  std::vector<double> full_trajectory, full_step, acquisition, bought_candidate, step;
  for (std::size_t i = 0; i < full; ++i) {
    full_trajectory.push_back(static_cast<double>(i / map.states_each));
    full_step.push_back(static_cast<double>(i % map.states_each));
  }
  for (const Provenance& origin : map.origins) {
    acquisition.push_back(static_cast<double>(origin.acquisition));
    bought_candidate.push_back(static_cast<double>(origin.candidate));
    step.push_back(static_cast<double>(origin.step));
  }
  if (map.absent.empty()) {
    writer.add("activations_full", {full, k}, map.full);
    writer.add("activations_full_trajectory", {full}, full_trajectory);
    writer.add("activations_full_step", {full}, full_step);
    writer.add("activations_bought", {bought, k}, map.bought);
    writer.add("activations_bought_acquisition", {bought}, acquisition);
    writer.add("activations_bought_candidate", {bought}, bought_candidate);
    writer.add("activations_bought_step", {bought}, step);
    writer.add("activations_centre", {kSketchSize}, map.components.centre);
    writer.add("activations_directions", {k, kSketchSize}, map.components.directions);
    writer.add("activations_variance", {k}, map.components.variance);
  }
  if (run.calibration) {
    const Calibration& c = *run.calibration;
    writer.add("calibration_spread", {c.trajectories, c.steps}, c.spread);
    writer.add("calibration_mean_error", {c.trajectories, c.steps}, c.mean_error);
    writer.add("calibration_member_error", {c.trajectories, c.steps}, c.member_error);
  }
  writer.commit();
  write_text(run.result.folder / "analysis.json", config::json_text(to_value(run)) + "\n");
}

void write_analysis(const SweepAnalysis& sweep) {
  for (const RunAnalysis& run : sweep.runs) write_analysis(run);
  write_text(sweep.folder / "analysis.json", config::json_text(to_value(sweep)) + "\n");
}

}  // namespace stap
