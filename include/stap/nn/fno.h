#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stap/nn/family.h"

namespace stap {

/// A Fourier neural operator: lifting, Fourier layers, projection (docs/internals/design.md).
/// Channels and axes come from the grid that it is made for.
struct FnoOptions {
  /// Kept Fourier modes per axis, even; none: 32 on one axis, 16 on each of two, as far as they go.
  std::vector<std::size_t> modes{};
  std::size_t width = 64;        ///< channels of the hidden layers
  std::size_t lifting = 256;     ///< hidden channels of the pointwise network in front
  std::size_t projection = 256;  ///< hidden channels of the pointwise network at the end
  std::size_t layers = 4;

  /// Complex modes kept per axis: k on all axes but the last, k/2 + 1 on the last.
  std::vector<std::size_t> kept() const;
  std::size_t kept_total() const;
};

const config::Fields<FnoOptions>& fno_fields();

/// The family with these options.
config::Choice<FamilyRow> fno(const FnoOptions& options = {});
/// The options of a network of this family; nothing if it is of another.
std::optional<FnoOptions> fno_options(const config::Choice<FamilyRow>& family);

/// Its weights have the names of neuraloperator's state dictionary. Pointwise ones are
/// [out, in, 1(, 1)], spectral ones [in, out, modes..., 2] (real, imaginary), the first mode axis
/// of two running -k/2 .. k/2-1.
std::vector<TensorPlan> fno_tensors(const NetworkSpec& spec);

}  // namespace stap
