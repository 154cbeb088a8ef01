#pragma once

#include <span>

#include "stap/core/grid.h"
#include "stap/core/states.h"

namespace stap {

/// F of du/dt = F(u, t), an equation discretised in space: what some solvers integrate in time and
/// offer beside themselves, in double precision. Cheap: one evaluation, no internal steps.
class RightHandSide {
 public:
  virtual ~RightHandSide() = default;
  RightHandSide(const RightHandSide&) = delete;
  RightHandSide& operator=(const RightHandSide&) = delete;

  const Grid& grid() const { return grid_; }
  /// Length of the solver's learned step, in the problem's time unit.
  double dt() const { return dt_; }

  /// Row b of `rates` = F of row b of `states`, all at `time` (0 at u^0). A row's rates never
  /// depend, not by a bit, on the other rows or on the threads. All of them are NaN where a value
  /// of the state is not finite or the equation has no F for it (a density below 0). Guards of the
  /// solver are not asked. Throws Error(internal) unless both have equally many rows of the grid's
  /// size.
  void evaluate(double time, StatesView<const double> states, StatesView<double> rates) const;

 protected:
  RightHandSide(Grid grid, double dt);

 private:
  /// Whether there is an F for this (finite) state.
  virtual bool defined(std::span<const double> state) const;
  /// Sizes agree. What is written for rows without an F does not matter, but none may touch
  /// another.
  virtual void compute(double time, StatesView<const double> states,
                       StatesView<double> rates) const = 0;

  Grid grid_;
  double dt_;
};

}  // namespace stap
