// The FNO on a CPU: what every pass needs (layout, transforms, kernels), the parts of the forward
// pass that inference and training share, and inference itself.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/layout.h"
#include "nn/cpu/transform.h"
#include "stap/nn/fno.h"

namespace stap::cpu {

/// Points whose hidden layer (256 channels) is held at a time, so that it stays in cache.
inline constexpr std::size_t kChunk = 48;
/// Rows one thread carries through the network together: each mode's weight is read once for all.
inline constexpr std::size_t kForwardRows = 16;

/// One member's weights as the passes read them.
struct MemberView {
  const float* packed;
  const Scaling* scaling;
  const float* loss_factors;  ///< FitJob::loss_factors, one per channel
};

/// Sees the last hidden activations (before their GELU) of a run of points of one row,
/// [points][ld], projection channels.
using HiddenSink = std::function<void(std::size_t row, std::size_t first_point, std::size_t points,
                                      const float* hidden, std::size_t ld)>;

class Network {
 public:
  Network(const FnoShape& shape, Isa isa);

  FnoShape shape;
  Layout layout;
  Transform transform;
  const Kernels& kernels;
  std::vector<float> positions;  ///< position_inputs()
  std::size_t field_ld;          ///< stride of a field of `width` channels
  std::size_t hidden_ld;         ///< stride that fits both hidden layers
  std::size_t field_size() const { return layout.points * field_ld; }
  std::size_t spectrum_row() const { return 2 * layout.width_padded; }
  float inverse_points() const { return 1.0f / static_cast<float>(layout.points); }

  /// The view of row `row` in spectra [mode][rows][2][padded width].
  SpectrumView spectrum(float* spectra, std::size_t rows, std::size_t row) const;

  /// State [C][points] (and time, and positions) -> scaled network input [points][in].
  void scale_input(const MemberView& member, const float* state, float time, float* input) const;
  /// The lifting's hidden layer of n points from `input`, and the projection's from `field`, into
  /// `hidden` (stride hidden_ld): everything set but the slope.
  Dense lifting_hidden(const MemberView& member, const float* input, std::size_t n,
                       float* hidden) const;
  Dense projection_hidden(const MemberView& member, const float* field, std::size_t n,
                          float* hidden) const;
  /// Network input -> first field; `hidden` has kChunk x hidden_ld values.
  void lift(const MemberView& member, const float* input, float* hidden, float* field) const;
  /// The dense part of Fourier layer l for all points: everything set but the slope.
  Dense layer(const MemberView& member, std::size_t l, const float* x, const float* add,
              float* y) const;
  /// Means over the grid of the conserved channels of a state, as many doubles.
  void conserved_means(const float* state, double* means) const;
  /// Shifts these channels of a state so that they have the means again.
  void restore_means(const double* means, float* state) const;
  /// Network output [points][C] of some points -> advanced state there.
  void unscale(const MemberView& member, const float* state, const float* output,
               std::size_t first_point, std::size_t count, float* advanced) const;
};

/// Memory of one thread for forward().
struct ForwardMemory {
  explicit ForwardMemory(const Network& network);
  Buffer<float> fields, input, hidden, output, spectra, products, scratch;
  std::vector<double> means;  ///< of the rows' conserved channels
};

/// Advances up to kForwardRows states by one learned step with one member. states[r] and
/// advanced[r] are [C][points]; times may be null. `sink` may be null.
void forward(const Network& network, const MemberView& member, std::span<const float* const> states,
             const float* times, std::span<float* const> advanced, ForwardMemory& memory,
             const HiddenSink* sink);

}  // namespace stap::cpu
