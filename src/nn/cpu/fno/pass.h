// Training: the gradients of several batches at once. Rows are worked on in blocks of kBlockRows,
// spectral weights mode by mode; the sum over blocks is in order, so neither threads nor other
// members can change a bit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "nn/cpu/fno/body.h"
#include "stap/nn/engine.h"

namespace stap::cpu::fno {

/// Rows whose dense-weight gradients are summed in one place.
inline constexpr std::size_t kBlockRows = 4;

class FnoPass final : public Pass {
 public:
  /// For up to `batches` batches a call. Allocates all there is to allocate.
  FnoPass(const FnoBody& body, std::size_t batches, int threads);

  void run(std::span<const Rows> batches) override;
  const float* gradient(std::size_t batch) const override { return held_[batch].gradient.data(); }

 private:
  // What is held of a batch from phase to phase.
  struct Held {
    Buffer<float> inputs;               // [row][points][in]
    std::vector<Buffer<float>> fields;  // per layer, [row][points][ld]: the layer's input
    // slopes[l], l = 1 .. layers-1: GELU's slope at the layer's input, later that field's
    // gradient; slopes[layers]: gradient of the last layer's output. [row][points][ld]
    std::vector<Buffer<float>> slopes;
    std::vector<Buffer<float>> spectra;  // per layer, [mode][row][2][width]: of the layer's input
    Buffer<float> products;              // of the layer's output, forward; its gradient, backward
    Buffer<float> blocks;                // dense gradients per block
    Buffer<float> gradient;
    Buffer<float> transposed;
    std::size_t rows = 0;
  };
  struct Scratch {
    Buffer<float> field, d_field, hidden, slope, output, transform, adjoint;
    Buffer<float> bias;  // of a row; later sums of its gradient
  };
  struct Task {
    const Rows& batch;
    Held& held;
    Scratch& scratch;
    float* dense;  // this block's dense gradients
  };

  template <class Work>
  void for_blocks(std::span<const Rows> batches, const Work& work);
  template <class Work>
  void for_modes(std::span<const Rows> batches, const Work& work);

  void lift(const Task& task, std::size_t row) const;
  void layer_forward(const Task& task, std::size_t l, std::size_t row) const;
  void last_layer_and_projection(const Task& task, std::size_t row) const;
  void layer_gradients(const Task& task, std::size_t l, std::size_t row, const float* d_out) const;
  void shift_gradients(const Task& task, std::size_t l, std::size_t row, const float* d_out) const;
  void layer_backward(const Task& task, std::size_t l, std::size_t row) const;
  void lift_backward(const Task& task, std::size_t row, const float* d_field) const;
  void mode_backward(Held& held, const Rows& batch, Scratch& scratch, std::size_t l,
                     std::size_t mode) const;

  float* field_of(Buffer<float>& fields, std::size_t row) const {
    return fields.data() + row * net_.field_size();
  }

  const FnoBody& net_;
  int threads_;
  std::vector<Held> held_;
  std::vector<Scratch> scratch_;
};

}  // namespace stap::cpu::fno
