// Networks compute in single precision: what of the solver's double it can hold.
#pragma once

#include <span>
#include <string>

#include "stap/core/states.h"

namespace stap {

/// Sizes between these leave room for what is computed from them.
inline constexpr double kSingleLeast = 1e-30, kSingleMost = 1e30;
/// What varies less than this beside its mean does not vary in single precision.
inline constexpr double kSingleVariation = 0x1p-24;

/// Why networks cannot learn states [frame][channel][points] of these channels: a clause about the
/// first that is too small or too large. Empty if they can.
std::string single_precision_problem(std::span<const double> states, std::size_t points,
                                     std::span<const std::string> channels);

}  // namespace stap
