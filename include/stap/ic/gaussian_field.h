#pragma once

#include <memory>

#include "stap/config/fields.h"
#include "stap/ic/sampler.h"

namespace stap {

/// u(x) = Re sum over k of a_k (xi + i eta) exp(2 pi i k . x), xi and eta standard normal,
/// a_k = amplitude (4 pi^2 |k|^2 + shift)^(-exponent), x in units of the domain's lengths. Wave
/// vectors `all`: every one of the grid but 0, each component from -N/2 up to below N/2, so that u
/// is Gaussian with variance sum a_k^2 at a point; `half` (one axis only): 0 < k < N/2.
struct GaussianFieldOptions {
  enum class WaveVectors { all, half };

  double amplitude = 1.0;
  double shift = 49.0;     ///< above 0
  double exponent = 1.25;  ///< 0 or more
  WaveVectors wave_vectors = WaveVectors::all;
  double warm_up = 0.0;
};

const config::Fields<GaussianFieldOptions>& gaussian_field_fields();

/// Values at x_i = i dx, one or two axes. A coefficient (xi, eta) depends on the stream and its
/// wave vector alone, channels have streams of their own. Throws Error(config) unless the grid has
/// one axis for `half` and the options are in the range of their fields.
std::unique_ptr<Sampler> make_gaussian_field(const GaussianFieldOptions& options, const Grid& grid);

}  // namespace stap
