#pragma once

#include <cstddef>
#include <memory>

#include "stap/config/fields.h"
#include "stap/ic/sampler.h"

namespace stap {

/// u(x) = sum over terms of A sin(2 pi k x / X + phi) with A ~ U[amplitude_low, amplitude_high],
/// phi ~ U[0, 2 pi] and k ~ U{1 .. max_wave_number}: the printed set-up of Burgers (the defaults,
/// with a warm-up of 0.6) and KdV.
struct SinesOptions {
  std::size_t terms = 2;
  std::size_t max_wave_number = 4;
  double amplitude_low = 0.0;
  double amplitude_high = 1.0;
  double warm_up = 0.0;
};

const config::Fields<SinesOptions>& sines_fields();

/// Values at x_i = (i + 1/2) dx. Throws Error(config) unless the grid has one axis and one channel,
/// the options are in the range of their fields and amplitude_low is not above amplitude_high.
std::unique_ptr<Sampler> make_sines(const SinesOptions& options, const Grid& grid);

}  // namespace stap
