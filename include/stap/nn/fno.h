#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stap/core/grid.h"
#include "stap/core/rng.h"
#include "stap/nn/options.h"

namespace stap {

/// The one network architecture: a Fourier neural operator on states of `grid`
/// (lifting, Fourier layers, projection: docs/internals/design.md).
struct FnoShape {
  Grid grid;
  FnoOptions options;
  /// Channels of the grid whose mean a step keeps: it is shifted so, once it is made, wherever
  /// networks are used. Training knows nothing of it. Rising.
  std::vector<std::size_t> conserved{};

  /// The state's channels, then the time's, then those of position_inputs().
  std::size_t in_channels() const {
    return grid.channels + (options.time_input ? 1 : 0) + position_channels();
  }
  std::size_t position_channels() const { return options.position_input ? 2 * grid.axes() : 0; }
  std::size_t out_channels() const { return grid.channels; }
  /// Complex modes kept per axis: k on all axes but the last, k/2 + 1 on the last.
  std::vector<std::size_t> kept() const;
  std::size_t kept_total() const;

  bool operator==(const FnoShape&) const = default;
};

/// A checked shape; options.conserve becomes `conserved`, by the names of a state's `channels`, of
/// which the grid may have several one after the other (clusters). Throws Error(config) unless
/// there is one even number of modes per axis, none of them beyond the grid, every width is at
/// least 1, and what is conserved is a channel.
FnoShape make_shape(Grid grid, FnoOptions options, std::span<const std::string> channels = {});

/// Channels [position_channels][points]: per axis of N points the sine and the cosine of 2 pi i /
/// N. They go round with the grid, as the Fourier modes do, and tell all of its points apart.
std::vector<float> position_inputs(const FnoShape& shape);

/// A named array, as it stands in a model file.
struct Tensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;

  bool operator==(const Tensor&) const = default;
};

/// All weights of one network, in a fixed order. Pointwise weights are [out, in, 1(, 1)], spectral
/// ones [in, out, modes..., 2] (real, imaginary), the first mode axis of two running -k/2 .. k/2-1.
using Parameters = std::vector<Tensor>;

/// The names and shapes of a network's parameters, without values.
Parameters parameter_shapes(const FnoShape& shape);
/// Parameters of the right names and shapes, all zero.
Parameters zero_parameters(const FnoShape& shape);
/// Fresh weights, each a function of (rng, its name, its index).
Parameters initial_parameters(const FnoShape& shape, const Rng& rng);
/// Throws Error(data) naming the first tensor whose name or shape is not that of `shape`.
void check_parameters(const FnoShape& shape, const Parameters& parameters);

/// What stands around the network: u + s FNO((u - m)/s) or m + s FNO((u - m)/s) per channel.
struct Scaling {
  std::vector<float> mean, deviation;  ///< [C]; deviation above 0
  bool operator==(const Scaling&) const = default;
};
/// Mean 0, deviation 1.
Scaling unit_scaling(std::size_t channels);

}  // namespace stap
