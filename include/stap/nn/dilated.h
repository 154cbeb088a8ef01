#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stap/nn/family.h"

namespace stap {

/// A residual network of dilated convolutions: a convolution that lifts the channels to the width;
/// blocks of one convolution per dilation, each with a GELU behind it, whose input is added to what
/// comes out; a convolution that projects. Axes beyond their ends go on from the other one, or as
/// Padding::convolved() says. No normalisation.
struct DilatedOptions {
  std::size_t width = 64;  ///< channels of the hidden layers
  std::size_t blocks = 3;
  /// Of the convolutions of a block, in their order: how many points their taps are apart.
  std::vector<std::size_t> dilations{1, 2, 4, 8, 4, 2, 1};
  std::size_t taps = 3;  ///< of all convolutions, per axis; odd

  std::size_t layers() const { return blocks * dilations.size(); }
  /// Points to either side that a convolution of this dilation looks at.
  std::size_t reach(std::size_t dilation) const { return dilation * (taps / 2); }
};

const config::Fields<DilatedOptions>& dilated_fields();

/// The family with these options.
config::Choice<FamilyRow> dilated(const DilatedOptions& options = {});

/// lifting, blocks.B.D (both counted from 0) and projection, each with .weight [out, in, taps...]
/// and .bias [out]. Output p of a convolution is the bias and the sum over taps t, counted from 0,
/// of weight[..., t] times the input at p + (t - taps / 2) dilation. Where parameters are shifts,
/// each has .shifts [out, parameters] as well, and the bias of a row is bias + shifts parameters.
std::vector<TensorPlan> dilated_tensors(const NetworkSpec& spec);

}  // namespace stap
