#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "stap/report/figures.h"

namespace stap {

/// A mean over seeds with what stands around it: from three values on the 95 % interval of the
/// mean, of two the least and the largest, of one NaN.
struct SeedMean {
  double mean = 0, low = 0, high = 0;
};
SeedMean mean_over_seeds(const std::vector<double>& values);
/// The same of errors by their logarithms, so that the mean is the geometric one. One that is
/// infinite makes it NaN, a gap: it is not averaged away.
SeedMean geometric_mean_over_seeds(const std::vector<double>& logs);

/// What the bands of a chart are, in words; empty where all methods have one seed.
std::string bands_text(const std::vector<std::size_t>& seeds);

/// A run's evaluation of a round: its index, or npos where it has none.
std::size_t evaluation_of(const RunResult& run, std::size_t round);
/// Those of a method's runs that have any errors of this kind.
std::vector<const RunResult*> runs_with_errors(const MethodRuns& method, ErrorsOf whose);
/// Rounds that all of these runs have evaluated, ascending.
std::vector<std::size_t> common_rounds(const std::vector<const RunResult*>& runs);

/// Adds a sentence to a note.
void add_note(std::string& note, const std::string& sentence);
/// Calls `look` for a run; what it throws as Error(data) is noted, with the run's name.
void look_at(const RunResult& run, std::string& note, const std::function<void()>& look);

}  // namespace stap
