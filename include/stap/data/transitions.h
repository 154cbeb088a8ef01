#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "stap/core/grid.h"
#include "stap/core/parameters.h"

namespace stap {

/// Where a transition comes from.
struct Provenance {
  std::size_t acquisition = 0;  ///< 0: the initial trajectories, k: bought after round k - 1
  std::size_t candidate = 0;    ///< id in the pool
  std::size_t step = 0;         ///< 0-based: leads from state (or cluster) `step` to `step` + 1
  bool operator==(const Provenance&) const = default;
};

/// The training set: transitions (input, the solver's answer) in double, in the order bought.
struct TransitionSet {
  Grid grid{};
  std::size_t cluster = 1;       ///< states are clusters of so many (stap/core/cluster.h)
  std::string equation{};        ///< that made them
  double dt = 0.0;               ///< of a single solver step
  std::size_t acquisitions = 0;  ///< complete ones
  std::vector<Provenance> origins{};
  std::vector<double> inputs{}, outputs{};  ///< [n, C, X...]
  RowParameters parameters{};               ///< of each, where some vary

  std::size_t count() const { return origins.size(); }
};

/// Takes the transitions of the last acquisition out again.
void drop_last_acquisition(TransitionSet& set);

/// `transitions.h5` (format "transitions/2": `acquisition`, `candidate`, `step` and `acquisitions`
/// as whole numbers, `inputs`, `outputs`, the attributes of StateInfo, and `cluster` where it is
/// not 1; where parameters vary "transitions/3", with `parameters` [n, P] and the attribute
/// `parameter_names`), replaced in one step. `run` is the run_id() of whose training set it is, if
/// any. Throws Error(storage).
void write_transitions(const std::filesystem::path& path, const TransitionSet& set,
                       const std::string& run = {});
/// A hash of all of it, as sixteen digits.
std::string digest(const TransitionSet& set);
/// Throws Error(data) if it is damaged or of another format.
TransitionSet read_transitions(const std::filesystem::path& path);

}  // namespace stap
