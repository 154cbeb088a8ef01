// A network on a CPU: its body, and what surrounds it there: inputs, scaling, target, loss and
// conserved means.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "nn/cpu/kernels.h"
#include "stap/nn/cpu_body.h"
#include "stap/nn/family.h"
#include "stap/nn/network.h"

namespace stap::cpu {

/// One member's weights as the passes read them.
struct MemberView {
  const float* packed;
  const Scaling* scaling;
  const float* loss_factors;  ///< FitJob::loss_factors, one per channel
};

class Network {
 public:
  Network(const NetworkSpec& spec, Isa isa);

  NetworkSpec spec;
  std::unique_ptr<Body> body;
  const Kernels& kernels;
  std::size_t points;
  std::vector<float> positions;  ///< position_inputs()

  /// State [C][points], what its row is told and positions -> scaled network input [points][in].
  void scale_input(const MemberView& member, const float* state, const float* told,
                   float* input) const;
  /// Of what a row is told: what shifts the layers of the body.
  const float* shifts_of(const float* told) const {
    return told + (spec.told_channels() - spec.shifts());
  }
  /// Network output [n][C] of some points -> advanced state there.
  void unscale(const MemberView& member, const float* state, std::size_t first_point, std::size_t n,
               const float* output, float* advanced) const;
  /// Network output of some points -> the gradient of `weight` / 2 times the squared errors of
  /// these points, in its place. Returns `squares` and those errors.
  double loss_gradient(const MemberView& member, const float* state, const float* target,
                       float weight, std::size_t first_point, std::size_t n, float* output,
                       double squares) const;
  /// Means over the grid of the conserved channels of a state, as many doubles.
  void conserved_means(const float* state, double* means) const;
  /// Shifts these channels of a state so that they have the means again.
  void restore_means(const double* means, float* state) const;
};

/// Memory of one thread for forward().
struct ForwardMemory {
  explicit ForwardMemory(const Network& network)
      : body(network.body->forward()), means(kForwardRows * network.spec.conserved.size()) {}
  std::unique_ptr<Forward> body;
  std::vector<double> means;  ///< of the rows' conserved channels
};

/// Advances up to kForwardRows states by one learned step with one member. states[r] and
/// advanced[r] are [C][points]; told[r] is what row r is told. `sink` may be null.
void forward(const Network& network, const MemberView& member, std::span<const float* const> states,
             std::span<const float* const> told, std::span<float* const> advanced,
             ForwardMemory& memory, const HiddenSink* sink);

}  // namespace stap::cpu
