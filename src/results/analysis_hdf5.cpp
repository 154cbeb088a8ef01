// analysis.h5.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/analysis_format.h"
#include "stap/core/committee.h"
#include "stap/data/array_file.h"

namespace stap {
namespace {

// Arrays that an analysis holds in another shape. A writer does not copy what it is given, so they
// live until it has written.
struct ChosenArrays {
  std::vector<std::int64_t> round, candidate;
  std::vector<double> frequency;
  std::vector<std::uint8_t> pattern;

  explicit ChosenArrays(const ChosenSteps& chosen) {
    for (std::size_t r = 0; r < chosen.rounds.size(); ++r) {
      for (const Purchase& p : chosen.rounds[r]) {
        round.push_back(static_cast<std::int64_t>(r));
        candidate.push_back(static_cast<std::int64_t>(p.candidate));
        for (std::size_t i = 0; i < chosen.steps; ++i) pattern.push_back(p.pattern[i] ? 1 : 0);
      }
      const auto of_round = chosen.frequency(r);
      frequency.insert(frequency.end(), of_round.begin(), of_round.end());
    }
  }
};

struct ErrorArrays {
  std::vector<std::int64_t> transitions;
  std::vector<double> rmse_by_step;

  explicit ErrorArrays(const RunResult& result)
      : transitions(result.transitions.begin(), result.transitions.end()) {
    for (const auto& one : result.members.rmse_by_step)
      rmse_by_step.insert(rmse_by_step.end(), one.begin(), one.end());
  }
};

struct StateArrays {
  std::vector<std::int64_t> full_trajectory, full_step;
  std::vector<std::int64_t> acquisition, candidate, step;  // of bought states

  explicit StateArrays(const ActivationMap& map) {
    for (std::size_t i = 0; i < map.trajectories * map.states_each; ++i) {
      full_trajectory.push_back(static_cast<std::int64_t>(i / map.states_each));
      full_step.push_back(static_cast<std::int64_t>(i % map.states_each));
    }
    for (const Provenance& origin : map.origins) {
      acquisition.push_back(static_cast<std::int64_t>(origin.acquisition));
      candidate.push_back(static_cast<std::int64_t>(origin.candidate));
      step.push_back(static_cast<std::int64_t>(origin.step));
    }
  }
};

void add_chosen(ArrayWriter& writer, const ChosenSteps& chosen, const ChosenArrays& arrays) {
  const std::size_t purchases = arrays.round.size(), l = chosen.steps;
  writer.add_integers("chosen_round", {purchases}, arrays.round);
  writer.add_integers("chosen_candidate", {purchases}, arrays.candidate);
  writer.add_bytes("chosen_pattern", {purchases, l}, arrays.pattern);
  writer.add("chosen_frequency", {chosen.rounds.size(), l}, arrays.frequency);
}

void add_errors(ArrayWriter& writer, const RunResult& result, const ErrorArrays& arrays) {
  const std::size_t n = result.evaluated();
  writer.add_integers("errors_transitions", {n}, arrays.transitions);
  writer.add("errors_rmse", {n}, result.members.values_of(Metric::rmse));
  writer.add("errors_rmse_by_step", {n, arrays.rmse_by_step.size() / n}, arrays.rmse_by_step);
}

void add_activations(ArrayWriter& writer, const ActivationMap& map, const StateArrays& arrays) {
  const std::size_t k = map.components.count(), full = map.trajectories * map.states_each;
  const std::size_t bought = map.origins.size();
  writer.add("activations_full", {full, k}, map.full);
  writer.add_integers("activations_full_trajectory", {full}, arrays.full_trajectory);
  writer.add_integers("activations_full_step", {full}, arrays.full_step);
  writer.add("activations_bought", {bought, k}, map.bought);
  writer.add_integers("activations_bought_acquisition", {bought}, arrays.acquisition);
  writer.add_integers("activations_bought_candidate", {bought}, arrays.candidate);
  writer.add_integers("activations_bought_step", {bought}, arrays.step);
  writer.add("activations_centre", {kSketchSize}, map.components.centre);
  writer.add("activations_directions", {k, kSketchSize}, map.components.directions);
  writer.add("activations_variance", {k}, map.components.variance);
}

void add_calibration(ArrayWriter& writer, const Calibration& c) {
  writer.add("calibration_spread", {c.trajectories, c.steps}, c.spread);
  writer.add("calibration_mean_error", {c.trajectories, c.steps}, c.mean_error);
  writer.add("calibration_member_error", {c.trajectories, c.steps}, c.member_error);
}

// [rows, P] each, and whose errors they are.
void add_parameters(ArrayWriter& writer, const RunAnalysis& run) {
  const auto add = [&](const char* name, const RowParameters& rows) {
    if (!rows.values.empty())
      writer.add(name, {rows.values.size() / rows.names.size(), rows.names.size()}, rows.values);
  };
  std::vector<std::string> names;
  for (const ParameterAnalysis& one : run.parameters) names.push_back(one.bins.draw.name);
  writer.add_text_attribute(kParameterNames, fmt::format("{}", fmt::join(names, ",")));
  add("parameters_test", run.rows.test);
  add("parameters_pool", run.rows.pool);
  if (!run.rows.test_rmse.empty())
    writer.add("parameters_test_rmse", {run.rows.test_rmse.size()}, run.rows.test_rmse);
}

}  // namespace

void write_arrays(const RunAnalysis& run) {
  const ChosenArrays chosen(run.chosen);
  const StateArrays states(run.activations);
  const ErrorArrays errors(run.result);

  ArrayWriter writer(run.result.folder / "analysis.h5");
  writer.add_text_attribute("format", kAnalysisFormat);
  writer.describe(run.states);
  add_chosen(writer, run.chosen, chosen);
  if (!run.result.without_errors()) add_errors(writer, run.result, errors);
  if (run.activations.absent.empty()) add_activations(writer, run.activations, states);
  if (!run.parameters.empty()) add_parameters(writer, run);
  if (run.calibration) add_calibration(writer, *run.calibration);
  writer.commit();
}

}  // namespace stap
