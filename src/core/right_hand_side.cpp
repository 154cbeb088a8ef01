#include "stap/core/right_hand_side.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

RightHandSide::RightHandSide(Grid grid, double dt) : grid_(std::move(grid)), dt_(dt) {}

bool RightHandSide::defined(std::span<const double>) const {
  return true;
}

void RightHandSide::evaluate(double time, StatesView<const double> states,
                             StatesView<double> rates) const {
  if (states.count != rates.count || states.row_size != grid_.values() ||
      rates.row_size != grid_.values())
    throw Error(ErrorKind::internal,
                fmt::format("right-hand side: {} states of {} values and {} rates of {}, expected "
                            "equally many of {} ({})",
                            states.count, states.row_size, rates.count, rates.row_size,
                            grid_.values(), grid_.shape_text()));
  if (states.count > 0) compute(time, states, rates);
  for (std::size_t b = 0; b < states.count; ++b) {
    const std::span<const double> state = states.row(b);
    const bool finite =
        std::all_of(state.begin(), state.end(), [](double x) { return std::isfinite(x); });
    if (!finite || !defined(state)) {
      const std::span<double> row = rates.row(b);
      std::fill(row.begin(), row.end(), std::numeric_limits<double>::quiet_NaN());
    }
  }
}

}  // namespace stap
