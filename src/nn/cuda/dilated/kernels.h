// The kernels of dilated networks, as the host sees them (nn/cuda/kernels.h has what all families
// share). Fields of a bundle are [row][point][64 channels] there, too, and every layer maps 64
// channels to 64: what a network does not have is zero and stays zero.
//
// A layer's weights are [tap][in 64][out 64], then its bias [64]; layers stand one after the other:
// lifting, those of the blocks, projection.
#pragma once

#include "nn/cuda/kernels.h"

namespace stap::cuda {

/// Sizes that all layers share.
struct Taps {
  int count;  ///< of a convolution, on all axes
  int layers;

  __host__ __device__ int layer_size() const { return count * 64 * 64 + 64; }
  __host__ __device__ int layer(int l) const { return l * layer_size(); }
  __host__ __device__ int bias(int l) const { return layer(l) + count * 64 * 64; }
  /// Blocks of 64 x 64 weights in the order of kernels, forward and transposed by turns.
  __host__ __device__ int blocks() const { return 2 * layers * count; }
};

/// Neighbours (nn/neighbours.h) on the device.
struct Table {
  const std::uint32_t *source, *tap;
  int entries;
};

/// y = act(bias + sum over entries of x[source] W[tap]) * factor + add, and product = y * slope of
/// the layer before: null pointers leave their part out. Forward: with the bias; else the way back,
/// with transposed weights. `add` may be `y`; x is neither.
struct Convolution {
  Table table;
  int layer;
  bool forward, gelu;
  const float* x;
  const float *factor, *add;
  float *y, *slope;  ///< slope: of the GELU, at its argument
  const float* before;
  float* product;
};

void prepare_dilated();

/// Puts the weights of the bundles' members in the order convolve() reads.
void order_weights(const Launch& launch, const Taps& taps);
/// The scaled inputs of the rows; all rows are written, with zeros where there is none.
void dilated_input(const Launch& launch, float* field);
void convolve(const Launch& launch, const Taps& taps, const Convolution& convolution);
/// Projected field -> states.
void dilated_output(const Launch& launch, const float* field);
/// Projected field -> its gradient, in its place, and squared errors ([bundle][layer part]).
void dilated_loss(const Launch& launch, float* field, double* losses);
/// Gradients of a layer's weights and bias, summed over the points of each part: [bundle][layer
/// part][layer_size].
void tap_gradient(const Launch& launch, const Taps& taps, const Table& table, const float* x,
                  const float* d, float* partial);
/// Adds up the parts and makes the Adam step of a layer or, with `gradient` (of bundle 0), only
/// writes the sums there. Unless null, adds the losses to squares[bundle].
void dilated_step(const Launch& launch, const Taps& taps, int layer, const float* partial,
                  const double* losses, double* squares, float* gradient);

}  // namespace stap::cuda
