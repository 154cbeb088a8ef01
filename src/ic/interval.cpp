#include "ic/interval.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

const Grid& require_interval(const Grid& grid, const char* name) {
  if (grid.axes() != 1 || grid.channels != 1)
    throw Error(ErrorKind::config,
                fmt::format("{}: the grid is {}, expected one channel and one axis", name,
                            grid.shape_text()));
  return grid;
}

void add_sine(double amplitude, double wave_number, double phase, std::span<double> state) {
  const double n = static_cast<double>(state.size());
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] +=
        amplitude *
        std::sin(2.0 * std::numbers::pi * wave_number * (static_cast<double>(i) + 0.5) / n + phase);
}

}  // namespace stap
