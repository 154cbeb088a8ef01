// Questions to a solver that is looked at, and how its answers are compared.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stap/core/grid.h"
#include "stap/core/solver_queue.h"
#include "stap/core/stop.h"
#include "stap/core/symmetry.h"

namespace stap {

// Of what a step changes. Networks that have learnt a step to this are good ones, so that a
// symmetry which is off by less does no harm; one that is off by less than the second may be there
// but for a little friction, and one that is not there shows with what a step changes itself.
inline constexpr double kLeastOfSymmetry = 0.01, kNearlySymmetry = 0.05;
// Networks compute in float, whose rounding is 6e-8: what is below makes no difference to them, but
// a run cannot be repeated to the bit.
inline constexpr double kAlmost = 1e-6;
// Relative: what is closer is the same but for rounding.
inline constexpr double kOnlyRounding = 1e-9;

/// What became of a question.
struct SolverTold {
  Answer answer{};
  double wall = 0.0;  ///< seconds from the question to the reply
  bool ok() const { return answer.status == Answer::Status::ok; }
  bool refused() const { return answer.status == Answer::Status::refused; }
  /// "fails: exit code 3"
  std::string trouble() const;
};

/// Asks about all of them at the same time, with these parameters, and waits. `calls` grows by
/// those that were not refused. Throws Stopped.
std::vector<SolverTold> ask_solver(const Solver& solver, SolverQueue& queue,
                                   const std::vector<std::vector<double>>& states,
                                   const std::vector<double>& times,
                                   const std::vector<double>& parameters, std::size_t steps,
                                   const StopAsked& stop, std::size_t& calls);

/// Some way into a trajectory that begins at `begin` and takes `span` (0: not known), where nothing
/// is as it is at its beginning by chance: a forcing that moves has the symmetries there that it
/// keeps.
double later_time(double begin, double span, double dt);

/// A step that was made.
struct SolverStep {
  std::vector<double> from, to;
  std::vector<double> parameters{};
};
/// The step that a problem with this symmetry makes as well.
SolverStep image_of(const StateMap& map, const SolverStep& step);
/// How far a is from b as a share of what the step changes, of the channel where that is largest:
/// channels have units of their own, and a velocity would not be seen beside a pressure.
double share_of_change(const Grid& grid, const SolverStep& step, const std::vector<double>& a,
                       const std::vector<double>& b);

/// Whether two steps are nearly the same, so that one tells nothing beside the other.
bool is_like(const Grid& grid, const SolverStep& a, const SolverStep& b);

double distance(const std::vector<double>& a, const std::vector<double>& b);
bool same_bits(const std::vector<double>& a, const std::vector<double>& b);
/// Relative, and above 0 wherever the bits differ.
double difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace stap
