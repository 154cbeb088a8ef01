// The FNO on the GPU: where weights stand, the transforms as matrices, and the order of the
// kernels.
#pragma once

#include <vector>

#include "nn/cuda/body.h"
#include "nn/cuda/device_array.h"
#include "nn/cuda/kernels.h"
#include "stap/nn/fno.h"

namespace stap::cuda {

/// Sizes of a network; pointers to its weights are left null.
Net make_net(const NetworkSpec& spec);
/// Floats of a bundle between the two passes of a transform; 0 for one axis.
std::size_t half_size(const NetworkSpec& spec);

/// Throws Error(config), naming the option, if the kernels cannot hold this network.
void check_limits(const NetworkSpec& spec);

/// Weights of a member in the packed layout of kernels.h.
std::size_t member_size(const NetworkSpec& spec);
void pack(const NetworkSpec& spec, const Parameters& parameters, std::span<float> packed);
void unpack(const NetworkSpec& spec, std::span<const float> packed, Parameters& parameters);

/// The transforms of the kept modes and their adjoints, one pass per axis; for launches that are
/// exact or not.
class Transform {
 public:
  Transform(const NetworkSpec& spec, bool exact);

  enum class Kind { forward, inverse, inverse_adjoint, forward_adjoint };
  /// Where a transform stopped: `values` is a field, or what `pass` will make one of.
  struct Field {
    const Pass* pass;  ///< null: nothing is left to do
    const float* values;
  };
  /// Spectrum -> field, but for the last pass where the layers' kernels can make it themselves.
  Field to_field(Kind kind, const Launch& launch, const float* spectrum, float* half,
                 float* out) const;
  /// The first pass of kind forward if the kernels that make a field can make it too; else null.
  const Pass* following() const;
  /// The other pass of kind forward, from what following() has made.
  void finish_forward(const Launch& launch, const float* half, float* spectrum) const;
  /// Kinds forward and inverse_adjoint: field -> spectrum; the others back. `half` is scratch.
  void run(Kind kind, const Launch& launch, const float* in, bool gelu_first, float* half,
           float* out) const;

 private:
  struct Matrix {
    DeviceArray<float4> fragments;
    Pass pass;
  };
  std::vector<Matrix> passes_[4];
};

/// Fields, spectra and sums of some bundles.
struct FnoWorkspace final : Workspace {
  /// `training`: keeps every layer's input.
  FnoWorkspace(const NetworkSpec& spec, int bundles, bool training);
  static std::size_t bytes(const NetworkSpec& spec, int bundles, bool training);

  std::vector<DeviceArray<float>> fields, spectra;
  DeviceArray<float> product, half, next_half, add, d_field, partial, layer_partial;
  DeviceArray<double> losses;
  DeviceArray<double> means;  ///< of conserved channels; not for training
};

/// Advances the rows of a launch.
void forward(const Launch& launch, const Transform& transform, FnoWorkspace& work, float* hidden);
/// Gradients and, unless `gradient` (member_size floats) is given, one Adam step of every bundle.
/// Squared errors are added to squares[bundle].
void train_step(const Launch& launch, const Transform& transform, FnoWorkspace& work,
                double* squares, float* gradient);

}  // namespace stap::cuda
