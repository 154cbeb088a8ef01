// Which symmetries does a user's own solver have? `stap solver symmetries`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/grid.h"
#include "stap/trial/solver_check.h"

namespace stap {

/// Plausible ones, in the order in which they are tried: signs of channels; mirrors with signs; the
/// swap of two axes that are alike, with a swap of channels and signs; time turned round, with
/// mirrors and signs. Channels that are called like an axis or like time cannot be named in a
/// symmetry, and stay as they are.
std::vector<std::string> symmetry_candidates(const Grid& grid,
                                             const std::vector<std::string>& channels);

/// One that was tried.
struct SymmetryTried {
  enum class Verdict { holds, nearly, broken, failed, untold };

  std::string text;
  Verdict verdict = Verdict::untold;
  std::optional<double> off{};  ///< share of what a step changes, the largest that was seen
  std::string trouble{};        ///< why there is no such share
};

struct SymmetrySearch {
  std::size_t calls = 0;  ///< that were made
  std::vector<SymmetryTried> rows{};
  /// Those that hold, as few as make the others; for train.symmetries.
  std::vector<std::string> found{};
  std::size_t states = 0;             ///< initial conditions that it was judged by
  std::vector<std::string> unseen{};  ///< channels that are 0 in all of their steps
  std::string unmirrored{};  ///< "x and y": axes that none of them turns round; empty: all do
  std::size_t decided = 0;  ///< not asked: they follow from rows, or what is broken would from them
  std::size_t too_many = 0;  ///< not asked: more than kMostSymmetries maps with those found
  std::size_t left = 0;      ///< not tried for want of calls, or because of:
  bool stopped = false;      ///< somebody asked for an end

  /// Something was asked about, and nothing came of it: each call failed, or was refused.
  bool nothing_told() const;
};

/// Calls that the search makes if nothing holds; what holds takes one more.
std::size_t planned_search_calls(const SolverToCheck& solver, std::size_t calls_most);
/// Tries those that the study states, then the plausible ones, on a step from an initial condition,
/// some way into a trajectory where the solver is told the time, a call each; one that holds is
/// tried on a second one as well, lest it is the state that has the symmetry and not the solver.
/// `calls_most` 0: no limit. Progress: phase "solver symmetries". A stop ends it with what it has;
/// throws Stopped where that is nothing yet, Error(solver) if no step can be made, or none that
/// changes anything, and Error(data) for states that are not of the grid's size.
SymmetrySearch find_symmetries(const SolverToCheck& solver, std::size_t calls_most,
                               Observer& observer, const StopAsked& stop = {});

/// A table, and what to put into the configuration; for programs the same as a map.
std::string symmetry_search_text(const SymmetrySearch& search);
config::Value to_value(const SymmetrySearch& search);

}  // namespace stap
