// Does a user's own solver do what a study takes for granted? `stap solver check`.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/observer.h"
#include "stap/core/parameters.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"

namespace stap {

/// At most, unless told otherwise, and one more for every symmetry that is stated and for every
/// parameter that varies.
inline constexpr std::size_t kSolverCheckCalls = 16;

/// Another version of the solver that is checked.
struct SolverVariant {
  double dt_factor = 1.0;
  std::size_t slots = 1;
};
struct CheckRow;
/// What is checked, and with what.
struct SolverToCheck {
  /// Each starts programs of its own, and does not try a failed query again.
  std::function<std::unique_ptr<Solver>(const SolverVariant&)> make;
  std::vector<std::vector<double>> states{};  ///< initial conditions: 1 or more
  RowParameters parameters{};                 ///< of each
  std::vector<ParameterDraw> draws{};         ///< the values that they may have
  double time = 0.0;                          ///< of them
  double span = 0.0;                          ///< of a trajectory in time; 0: not known
  bool told_time = true, told_dt = false;     ///< whether a call learns them
  bool time_input = false;                    ///< networks will know the time,
  bool position_input = false;                ///< and where a point is
  std::vector<std::string> symmetries{};      ///< that training takes for granted
  std::vector<std::string> conserve{};        ///< channels whose mean networks will keep
  double grace = 10.0;                        ///< seconds that it may take to end
  /// Describes new files that nobody will remove. Empty: nobody looks.
  std::function<std::vector<std::string>()> left_behind{};
  /// Looks at what starts its programs. Empty: nothing does.
  std::function<std::vector<CheckRow>(const StopAsked&)> launcher{};
};

/// What one check found.
struct CheckRow {
  enum class Verdict { ok, warning, failed, not_checked };

  std::string name;
  Verdict verdict = Verdict::ok;
  std::string text;  ///< one line
};
std::string_view to_string(CheckRow::Verdict verdict);

struct SolverCheck {
  std::size_t calls = 0;  ///< that were made
  std::vector<CheckRow> rows{};
  std::vector<double> seconds{};        ///< of calls of one step that ran alone
  std::optional<double> start{};        ///< seconds by which the first call was longer than others
  std::optional<double> start_share{};  ///< of a call of one step, as one of two steps tells
  std::optional<double> together{};     ///< seconds of two calls at a time over those of one
  std::optional<double> cores{};        ///< that one call keeps busy

  bool any_failed() const;
  /// Of a step; empty if none was made.
  std::optional<double> median_seconds() const;
};

/// Calls that leave nothing out.
std::size_t usual_calls(std::size_t symmetries, std::size_t parameters);
/// Calls that check_solver() makes if all goes well, or fewer: a solver too quick to be ended under
/// way is not.
std::size_t planned_calls(const SolverToCheck& solver, std::size_t calls_most);
/// Makes them: what most depends on first, and what `calls_most` leaves no room for is a row that
/// says so. Above usual_calls() the rest is spent on further initial conditions. A solver that
/// has failed three times before it ever answered is not asked again. Progress: phase "solver
/// check". Throws Stopped, and Error(data) for states that are not of the grid's size.
SolverCheck check_solver(const SolverToCheck& solver, std::size_t calls_most, Observer& observer,
                         const StopAsked& stop = {});

/// A table, then the advice; for programs the same as a map.
std::string solver_check_text(const SolverCheck& check, const std::vector<std::string>& advice);
config::Value to_value(const SolverCheck& check, const std::vector<std::string>& advice);

}  // namespace stap
