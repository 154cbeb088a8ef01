#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "stap/eval/error_bars.h"

// Who makes the next step of a trajectory that a surrogate and its solver make together: the
// decisions alone, as values. Whoever drives them holds the states (hybrid_loop.h is a driver).
namespace stap {

enum class Turn { surrogate, solver, done };

struct HybridRules {
  double tolerance = 0.0;  ///< of the error's norm over all channels, in their unit; above 0
  std::size_t steps = 0;   ///< of the trajectory, L
  bool from_any = false;   ///< its input is a state from anywhere in a trajectory, not a first one
  /// Solver steps; when they are used up the surrogate goes on, whatever its error bars say.
  std::size_t most = std::numeric_limits<std::size_t>::max();
};

/// Keeps a trajectory within a tolerance of the one that the solver alone would make, at all steps,
/// as often as the level of the bars says. From the last state of the solver the surrogate goes on
/// while its error bar, which counts the steps since that state, is within the tolerance. (Which
/// state that is depends on the bars, so they are those that hold together, for all states and
/// steps.) Where it would not be, the steps since then are given up
/// and the solver goes on from its own last state: one from a drifted state would repair nothing.
/// The surrogate is tried again after one solver step; where it failed at its first step, after 2,
/// 4, then every kPauseMost of them, until it gets further.
class HybridTurns {
 public:
  static constexpr std::size_t kPauseMost = 8;

  /// Throws Error(config) for a tolerance or a number of steps that is none.
  HybridTurns(const ErrorBars& bars, const HybridRules& rules);

  Turn next() const;
  /// The step that this is about, 0 .. L - 1: from state step() to step() + 1. It goes back to
  /// base() when the surrogate's steps are given up.
  std::size_t step() const { return step_; }
  /// The last state of the solver, or the input.
  std::size_t base() const { return base_; }

  /// The surrogate has made step(): `scale` is that of all channels of the state it made
  /// (bar_scales()), with members that began at base(). Its error bar.
  double drafted(double scale);
  /// The solver has made step().
  void solved();
  /// The solver cannot make step(): the surrogate makes all that is left.
  void give_up();

  std::size_t solver_steps() const { return base_; }
  /// Whether an accepted step was beyond the tolerance: the solver was not to be had.
  bool beyond() const { return beyond_; }

 private:
  HybridRules rules_;
  std::vector<double> first_, any_;  // factors, by step since base()
  std::size_t step_ = 0, base_ = 0;
  std::size_t solver_left_ = 0;  // steps in a row, before the surrogate is tried again
  std::size_t pause_ = 0;        // the last such number
  bool alone_ = false;           // no solver any more
  bool lost_ = false;            // a draft that has no bound any more
  bool beyond_ = false;
};

/// How many steps to draft before the solver checks them all at once: `most`, since slots would be
/// idle otherwise; half as many as last time where none was accepted. So a useless surrogate is
/// asked for single steps soon, which costs what the solver alone does.
class DraftLength {
 public:
  /// Throws Error(config) if it is 0.
  explicit DraftLength(std::size_t most);
  std::size_t next() const { return next_; }
  void checked(std::size_t accepted);

 private:
  std::size_t most_, next_;
};

/// Of drafted steps, each with its distance from what the solver makes of the state before it: how
/// many are accepted, which is the longest beginning within the tolerance. What is not finite is
/// not.
std::size_t accepted_steps(std::span<const double> differences, double tolerance);

/// sqrt(sum over channels of the mean squared difference over points): the norm of tolerances.
double state_distance(std::span<const double> a, std::span<const double> b, std::size_t channels);

}  // namespace stap
