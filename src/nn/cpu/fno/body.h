// The FNO on a CPU: what every pass needs (layout, transforms, kernels), and the parts of the
// forward pass that inference and training share.
#pragma once

#include <cstddef>
#include <memory>

#include "nn/cpu/fno/layout.h"
#include "nn/cpu/fno/transform.h"
#include "nn/cpu/kernels.h"
#include "stap/nn/cpu_body.h"
#include "stap/nn/fno.h"

namespace stap::cpu::fno {

/// Points whose hidden layer (256 channels) is held at a time, so that it stays in cache.
inline constexpr std::size_t kChunk = 48;

class FnoBody final : public Body {
 public:
  FnoBody(const NetworkSpec& spec, const FnoOptions& options, Isa isa);

  std::size_t size() const override { return layout.size; }
  std::size_t hidden_channels() const override { return layout.projection; }
  std::size_t batch_bytes() const override;
  void pack(const Parameters& parameters, float* packed) const override;
  void unpack(const float* packed, Parameters& parameters) const override;
  std::unique_ptr<Forward> forward() const override;
  std::unique_ptr<Pass> pass(std::size_t batches, int threads) const override;

  Layout layout;
  Transform transform;
  const Kernels& kernels;
  std::size_t field_ld;   ///< stride of a field of `width` channels
  std::size_t hidden_ld;  ///< stride that fits both hidden layers
  std::size_t field_size() const { return layout.points * field_ld; }
  std::size_t spectrum_row() const { return 2 * layout.width_padded; }
  float inverse_points() const { return 1.0f / static_cast<float>(layout.points); }

  /// The view of row `row` in spectra [mode][rows][2][padded width].
  SpectrumView spectrum(float* spectra, std::size_t rows, std::size_t row) const;

  // With a member's packed weights:
  /// The lifting's hidden layer of n points from `input`, and the projection's from `field`, into
  /// `hidden` (stride hidden_ld): everything set but the slope.
  Dense lifting_hidden(const float* weights, const float* input, std::size_t n,
                       float* hidden) const;
  Dense projection_hidden(const float* weights, const float* field, std::size_t n,
                          float* hidden) const;
  /// Network input -> first field; `hidden` has kChunk x hidden_ld values.
  void lift(const float* weights, const float* input, float* hidden, float* field) const;
  /// The dense part of Fourier layer l for all points: everything set but the slope. `bias` has
  /// room for that of the row, where layers are shifted.
  Dense layer(const Rows& rows, std::size_t row, std::size_t l, const float* x, const float* add,
              float* y, float* bias) const;
};

}  // namespace stap::cpu::fno
