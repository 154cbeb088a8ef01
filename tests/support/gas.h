#pragma once

// States [4, x, y] of a gas: density, velocity x, velocity y, pressure.

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "stap/core/rng.h"
#include "stap/pde/cns.h"

namespace stap::test {

using GasValues = std::array<double, 4>;

/// f(x, y) -> GasValues at the cell centres.
template <class Function>
std::vector<double> gas_at_cells(const CnsOptions& options, Function f) {
  const std::size_t nx = options.points[0], ny = options.points[1];
  std::vector<double> state(4 * nx * ny);
  for (std::size_t i = 0; i < nx; ++i)
    for (std::size_t j = 0; j < ny; ++j) {
      const double x =
          (static_cast<double>(i) + 0.5) * options.lengths[0] / static_cast<double>(nx);
      const double y =
          (static_cast<double>(j) + 0.5) * options.lengths[1] / static_cast<double>(ny);
      const GasValues values = f(x, y);
      for (std::size_t c = 0; c < 4; ++c) state[(c * nx + i) * ny + j] = values[c];
    }
  return state;
}

/// Sines in all fields; `rough` adds noise from cell to cell, with jumps by factors.
inline std::vector<double> random_gas(const CnsOptions& options, std::uint64_t seed, bool rough) {
  const Rng rng(seed);
  const double rho0 = std::exp(rng.uniform(0, -1, 1)), p0 = std::exp(rng.uniform(1, -1, 1));
  std::uint64_t cell = 0;
  return gas_at_cells(options, [&](double x, double y) {
    GasValues waves = {0, 0, 0, 0};
    for (std::uint64_t c = 0; c < 4; ++c) {
      for (std::uint64_t k = 0; k < 3; ++k) {
        const Rng wave = rng.split("wave", 4 * k + c);
        const double kx = static_cast<double>(wave.below(0, 3)) - 1;
        waves[c] += wave.uniform(1, 0, 0.2) *
                    std::sin(2 * std::numbers::pi *
                                 (kx * x / options.lengths[0] +
                                  static_cast<double>(k) * y / options.lengths[1]) +
                             wave.uniform(2, 0, 2 * std::numbers::pi));
      }
      if (rough) waves[c] += 0.5 * rng.split("noise", c).normal(cell);
    }
    ++cell;
    return GasValues{rho0 * std::exp(waves[0]), waves[1] + rng.uniform(2, -0.5, 0.5),
                     waves[2] + rng.uniform(3, -0.5, 0.5), p0 * std::exp(waves[3])};
  });
}

}  // namespace stap::test
