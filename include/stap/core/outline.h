#pragma once

#include <string>
#include <vector>

#include "stap/core/fixed_fields.h"
#include "stap/core/grid.h"
#include "stap/core/query.h"

namespace stap {

/// A number of a problem that its solver is told by name.
struct Parameter {
  std::string name;
  double value = 0.0;   ///< of one that varies: nothing
  bool varies = false;  ///< every query has its own

  bool operator==(const Parameter&) const = default;
};

/// What a solver that is not ours is, apart from how it is reached: enough to ask it.
struct Outline {
  std::string name;                   ///< of the problem: in tables, files and the cache
  Grid grid;                          ///< of its states
  std::vector<std::string> channels;  ///< names of the grid's channels
  double dt = 0.0;                    ///< of one learned step
  /// Of every channel: a state with a value outside is refused before the solver is called. Empty:
  /// no such limit.
  std::vector<double> guard_min, guard_max;
  std::vector<Parameter> parameters;
  SharedFixedFields fixed{};  ///< null: none
};

/// Names of the parameters that vary, as a query has their values.
std::vector<std::string> varied_names(const Outline& outline);
/// All of them with their values, of which a query may have its own.
std::vector<Parameter> parameters_of(const Outline& outline, const Query& query);

/// Why a state of [C, X...] must not be computed; empty if it may.
std::string guard_refusal(const Outline& outline, const std::vector<double>& state);

}  // namespace stap
