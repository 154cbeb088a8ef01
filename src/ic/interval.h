// What samplers on an interval share.
#pragma once

#include <span>

#include "stap/core/grid.h"

namespace stap {

/// The grid. Throws Error(config), naming the sampler, unless it has one channel and one axis.
const Grid& require_interval(const Grid& grid, const char* name);

/// Adds A sin(2 pi k x / X + phi) at the cell centres x_i = (i + 1/2) dx.
void add_sine(double amplitude, double wave_number, double phase, std::span<double> state);

}  // namespace stap
