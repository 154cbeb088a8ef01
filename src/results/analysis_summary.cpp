#include "results/analysis_summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "stap/eval/statistics.h"

namespace stap {

std::vector<const Purchase*> purchases_of(const ChosenSteps& chosen,
                                          std::optional<std::size_t> round) {
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

double cost_per_trajectory(const std::vector<const Purchase*>& purchases) {
  return static_cast<double>(cost_of(purchases)) / static_cast<double>(purchases.size());
}

std::optional<double> seconds_per_round(const std::vector<PhaseSeconds>& rounds,
                                        const std::string& phase) {
  std::vector<double> known;
  for (const PhaseSeconds& round : rounds)
    if (const auto found = round.find(phase); found != round.end()) known.push_back(found->second);
  if (known.empty()) return std::nullopt;
  return summarise(known).mean;
}

Runs runs_of(const SweepAnalysis& sweep, const MethodAnalysis& method) {
  Runs runs;
  for (std::size_t r : method.runs) runs.push_back(&sweep.runs[r]);
  return runs;
}

ChosenSteps all_chosen(const Runs& runs) {
  ChosenSteps all{.steps = runs[0]->chosen.steps};
  for (const RunAnalysis* run : runs)
    all.rounds.insert(all.rounds.end(), run->chosen.rounds.begin(), run->chosen.rounds.end());
  return all;
}

std::vector<ParameterAnalysis> all_parameters(const Runs& runs) {
  std::vector<const std::vector<ParameterAnalysis>*> all;
  for (const RunAnalysis* run : runs) all.push_back(&run->parameters);
  return together(all);
}

std::vector<double> values_of(const Runs& runs,
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

std::vector<double> last_error_by_step(const Runs& runs) {
  std::size_t n = runs[0]->result.evaluated();
  for (const RunAnalysis* run : runs) n = std::min(n, run->result.evaluated());
  if (n == 0) return {};
  std::vector<double> logs(runs[0]->result.members.rmse_by_step[n - 1].size(), 0.0);
  for (const RunAnalysis* run : runs)
    for (std::size_t i = 0; i < logs.size(); ++i)
      logs[i] +=
          std::log(run->result.members.rmse_by_step[n - 1][i]) / static_cast<double>(runs.size());
  for (double& l : logs) l = std::exp(l);
  return logs;
}

std::string note_of(const RunAnalysis& run) {
  if (run.complete()) return {};
  const std::string evaluations =
      run.result.without_errors()
          ? std::string()
          : fmt::format("{} of {} evaluations and ", run.result.evaluated(), run.result.rounds + 1);
  return fmt::format(
      "not finished: {}{} of {} purchases are complete; the committee is that of round {}",
      evaluations, run.chosen.rounds.size(), run.result.rounds, run.committee_round);
}

}  // namespace stap
