// A dilated network on a CPU: where its weights stand, which points its convolutions read, and the
// parts that inference and training share. A row goes its whole way on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nn/cpu/dilated/convolve.h"
#include "nn/cpu/kernels.h"
#include "nn/neighbours.h"
#include "stap/nn/cpu_body.h"
#include "stap/nn/dilated.h"

namespace stap::cpu::dilated {

/// A convolution of the network: its weights [tap][panels] and bias in the packed array, and its
/// transposed weights, [tap][panels of out -> in], in the array of those.
struct Layer {
  std::size_t in, out, weight, bias, transposed;
  std::size_t table;        ///< of neighbours: one per dilation
  std::size_t shift;        ///< in the packed array, [shifts][padded out]
  std::size_t shifted = 0;  ///< its bias in RowBias::biases
};

/// The biases of a row, where parameters shift them.
struct RowBias {
  const float* by = nullptr;  ///< Rows::shifts of the row
  float* biases = nullptr;    ///< of all layers
};

class DilatedBody final : public Body {
 public:
  DilatedBody(const NetworkSpec& spec, const DilatedOptions& options, Isa isa);

  std::size_t size() const override { return size_; }
  std::size_t hidden_channels() const override { return options.width; }
  std::size_t batch_bytes() const override;
  std::size_t thread_bytes() const override;
  void pack(const Parameters& parameters, float* packed) const override;
  void unpack(const float* packed, Parameters& parameters) const override;
  std::unique_ptr<Forward> forward() const override;
  std::unique_ptr<Pass> pass(std::size_t batches, int threads) const override;

  DilatedOptions options;
  std::size_t points, taps, in, out;  ///< taps: of a convolution, on all axes
  std::size_t shifts;                 ///< NetworkSpec::shifts()
  std::size_t out_padded, width_padded;
  std::size_t field_ld;       ///< stride of a field of `width` channels
  std::vector<Layer> layers;  ///< lifting, those of the blocks, projection
  std::size_t transposed_size;
  std::size_t biases_size;  ///< of RowBias::biases; 0 without shifts
  const Kernels& kernels;
  const Convolutions& convolutions;

  /// Values of a field, with the point of zeros behind its others.
  std::size_t field_size() const { return (points + 1) * field_ld; }
  std::size_t input_size() const { return (points + 1) * in; }
  std::size_t output_size() const { return (points + 1) * out_padded; }
  /// Convolutions with a GELU: number l is layers[l + 1].
  std::size_t depth() const { return options.layers(); }
  bool ends_block(std::size_t l) const { return (l + 1) % options.dilations.size() == 0; }
  const Layer& lifting() const { return layers.front(); }
  const Layer& projection() const { return layers.back(); }

  /// In `biases`, of biases_size.
  RowBias row_bias(const Rows& rows, std::size_t row, float* biases) const;
  /// x -> y = x W + bias; all else is to be set.
  Convolution convolution(const float* weights, const RowBias& bias, const Layer& layer,
                          const float* x, float* y) const;
  /// The gradient at a layer's output -> that at its input, by its transposed weights.
  Convolution backward(const float* transposed, const Layer& layer, const float* d,
                       float* d_in) const;
  /// Adds the gradients of a layer's weights, bias and shifts; its bias of the row is lost.
  void add_gradients(const Layer& layer, const float* x, const float* d, const RowBias& bias,
                     float* gradient) const;

 private:
  // Of the points of a layer's input, or of its output.
  std::size_t stride(const Layer& layer, bool of_input) const;

  std::size_t size_;
  std::vector<Neighbours> forward_, adjoint_;  // by table
};

}  // namespace stap::cpu::dilated
