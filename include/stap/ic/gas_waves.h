#pragma once

#include <cstddef>
#include <memory>

#include "stap/config/fields.h"
#include "stap/ic/sampler.h"

namespace stap {

/// Random waves of a gas: density, velocity x, velocity y, pressure on a rectangle.
/// Each of them is r = sum over (i, j), i, j in -max_wave_number .. max_wave_number without
/// i j = 0, of |k|^(-1/2) sin(k . x + phi), k = 2 pi (i/X, j/Y), phi ~ U[0, 2 pi]. With
/// rho0, T0, D_rho, D_p, M uniform in the ranges below and p0 = rho0 T0:
/// rho = rho0 (1 + D_rho r / max|r|), p likewise, velocities scaled so that the mean of |v| is
/// M sqrt(gamma T0). With window_probability all fields are windowed to (rho0, 0, 0, p0) by the
/// product over both axes of (tanh((x - l)/w) - tanh((x - r)/w)) / 2, l ~ U[0.1, 0.45],
/// r ~ U[0.55, 0.9] of the axis' length, w = window_width times it.
struct GasWavesOptions {
  std::size_t max_wave_number = 4;
  double gamma = 5.0 / 3.0;
  double density_low = 0.1, density_high = 10.0;
  double temperature_low = 0.1, temperature_high = 10.0;
  double density_contrast_low = 0.013, density_contrast_high = 0.26;
  double pressure_contrast_low = 0.04, pressure_contrast_high = 0.8;
  double mach_low = 0.1, mach_high = 1.0;
  double window_probability = 0.0;
  double window_width = 0.01;
  double warm_up = 0.235;
};

const config::Fields<GasWavesOptions>& gas_waves_fields();

/// Values at cell centres. Throws Error(config) unless the grid has two axes and four channels and
/// the options are in the range of their fields.
std::unique_ptr<Sampler> make_gas_waves(const GasWavesOptions& options, const Grid& grid);

}  // namespace stap
