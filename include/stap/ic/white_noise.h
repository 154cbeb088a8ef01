#pragma once

#include <memory>

#include "stap/config/fields.h"
#include "stap/ic/sampler.h"

namespace stap {

/// Every value of every channel normal and independent, of mean 0.
struct WhiteNoiseOptions {
  double deviation = 1.0;
  double warm_up = 0.0;
};

const config::Fields<WhiteNoiseOptions>& white_noise_fields();

/// A value depends on the stream, its channel and its point alone. Throws Error(config) for options
/// outside the range of their fields.
std::unique_ptr<Sampler> make_white_noise(const WhiteNoiseOptions& options, const Grid& grid);

}  // namespace stap
