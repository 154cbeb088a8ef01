#pragma once

#include <string>
#include <vector>

#include "stap/results/run_result.h"

namespace stap {

/// The runs that learn one problem: equation, initial conditions and steps are the same in all of
/// them, and nothing else need be equal to compare them.
struct ProblemRuns {
  std::string name;  ///< the preset it is that of, else the equation, and what sets it apart
  std::vector<const RunResult*> runs;
};
/// In order of first appearance.
std::vector<ProblemRuns> by_problem(const std::vector<RunResult>& results);

/// The problem's name in the published tables; empty if it is not there.
std::string published_problem(const config::Value& config);
/// Whether rounds, initial trajectories, budget, members and network are those of the paper.
bool has_published_sizes(const RunResult& result);

/// `name`, if it is a preset that the run is one of but for method and seed; else empty.
std::string preset_of(const RunResult& run, const std::string& name);

}  // namespace stap
