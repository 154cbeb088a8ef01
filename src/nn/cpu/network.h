// A network on a CPU: its body, and what surrounds it there: inputs, scaling, target, loss and
// conserved means.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "nn/body_points.h"
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
  std::size_t points;            ///< of a state
  std::size_t body_points;       ///< of the body's grid
  std::vector<BodyPoint> table;  ///< body_points(); empty: they are the same
  std::vector<float> positions;  ///< position_inputs()

  std::vector<std::uint8_t> mask;  ///< FixedFields::mask
  bool is_masked(std::size_t point) const { return !mask.empty() && mask[point] == 0; }
  std::size_t counted_values;  ///< of a state, where there is no mask

  /// BodyPoint::place; below 0, the output is nothing.
  std::ptrdiff_t place(std::size_t body_point) const {
    return table.empty() ? static_cast<std::ptrdiff_t>(body_point) : table[body_point].place;
  }
  /// call(which of them, its place in a state, how many) for the runs of n of the body's points
  /// that follow each other in a state, too.
  template <class Call>
  void for_runs(std::size_t first_point, std::size_t n, const Call& call) const {
    for (std::size_t p = 0, end; p < n; p = end) {
      const std::ptrdiff_t there = place(first_point + p);
      for (end = p + 1; end < n; ++end)
        if (there < 0 || place(first_point + end) != there + static_cast<std::ptrdiff_t>(end - p))
          break;
      if (there >= 0) call(p, static_cast<std::size_t>(there), end - p);
    }
  }
  /// State [C][points], what its row is told and what is at its points -> scaled network input
  /// [body_points][in].
  void scale_input(const MemberView& member, const float* state, const float* told,
                   float* input) const;
  /// Of what a row is told: what shifts the layers of the body.
  const float* shifts_of(const float* told) const {
    return told + (spec.told_channels() - spec.shifts());
  }
  /// Network output [n][C] of some of the body's points -> advanced state there.
  void unscale(const MemberView& member, const float* state, std::size_t first_point, std::size_t n,
               const float* output, float* advanced) const;
  /// Network output of some of the body's points -> the gradient of `weight` / 2 times the squared
  /// errors there, in its place. Returns `squares` and those errors.
  double loss_gradient(const MemberView& member, const float* state, const float* target,
                       float weight, std::size_t first_point, std::size_t n, float* output,
                       double squares) const;
  /// Means over the grid of the conserved channels of a state, as many doubles.
  void conserved_means(const float* state, double* means) const;
  /// Shifts these channels of a state so that they have the means again.
  void restore_means(const double* means, float* state) const;

 private:
  double mean_of(const float* channel) const;
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
