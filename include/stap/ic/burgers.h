#pragma once

#include <cstddef>
#include <memory>

#include "stap/config/fields.h"
#include "stap/ic/sampler.h"

namespace stap {

/// What the published program draws. One term A_k sin(2 pi k n_k x / X + phi_k) for each k = 1 ..
/// terms, with A ~ U[0, amplitude], phi ~ U[0, 2 pi] and n_k how often k came up in `draws` draws
/// from 1 .. terms: a term that never came up adds the constant A sin(phi). (The printed set-up is
/// the sampler `sines`, stap/ic/sines.h.) Then, in this order: a random sign; with
/// `absolute_probability` the absolute value; with `window_probability` a factor
/// (tanh((x - l)/w) - tanh((x - r)/w)) / 2 with l ~ U[0.1, 0.45] X, r ~ U[0.55, 0.9] X and
/// w = window_width X.
struct BurgersAsCodedOptions {
  std::size_t terms = 4;
  std::size_t draws = 2;
  double amplitude = 1.0;
  double absolute_probability = 0.1;
  double window_probability = 0.1;
  double window_width = 0.01;
  double warm_up = 0.603;
};

const config::Fields<BurgersAsCodedOptions>& burgers_as_coded_fields();

/// Values at the cell centres x_i = (i + 1/2) dx. Throws Error(config) unless the grid has one axis
/// and one channel and the options are in the range of their fields.
std::unique_ptr<Sampler> make_burgers_as_coded(const BurgersAsCodedOptions& options,
                                               const Grid& grid);

}  // namespace stap
