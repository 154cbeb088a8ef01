// Numbers of analyses that are shown both in JSON and in words.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stap/results/sweep_analysis.h"

namespace stap {

inline constexpr const char* kNoTestSet = "the study has no test set";

using Runs = std::vector<const RunAnalysis*>;

/// The runs of a method.
Runs runs_of(const SweepAnalysis& sweep, const MethodAnalysis& method);

/// Purchases of a round, or of all.
std::vector<const Purchase*> purchases_of(const ChosenSteps& chosen,
                                          std::optional<std::size_t> round = std::nullopt);
/// Steps that they buy.
std::size_t cost_of(const std::vector<const Purchase*>& purchases);
/// NaN, which is null in JSON, if there is none.
double cost_per_trajectory(const std::vector<const Purchase*>& purchases);
/// The rounds of all runs, one after the other.
ChosenSteps all_chosen(const Runs& runs);

/// The same of their parameters; empty where none vary, or not alike.
std::vector<ParameterAnalysis> all_parameters(const Runs& runs);

/// What each run has of something; runs without it (empty or NaN) do not count.
std::vector<double> values_of(const Runs& runs,
                              const std::function<std::optional<double>(const RunAnalysis&)>& of);
/// Mean seconds of a phase over the rounds that recorded it; empty if none did.
std::optional<double> seconds_per_round(const std::vector<PhaseSeconds>& rounds,
                                        const std::string& phase);
/// Rank correlation of spread and error of the mean, over all steps.
std::optional<double> overall_correlation(const RunAnalysis& run);
/// The variance of bought states over that of full trajectories.
std::optional<double> relative_variance(const RunAnalysis& run);
/// Geometric mean over runs of the last error by step, of the evaluations that all of them have;
/// empty if they have none.
std::vector<double> last_error_by_step(const Runs& runs);

/// What a run that has not finished lacks; empty if it has.
std::string note_of(const RunAnalysis& run);

}  // namespace stap
