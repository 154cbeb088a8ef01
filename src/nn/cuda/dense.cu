// Dense weights: their Adam step and the order in which the other kernels read them. All weights:
// their running average.
#include "nn/cuda/kernels.h"

#include "nn/cuda/adam.cuh"
#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

template <bool kExact>
__global__ void order_weights_kernel(Net net, const BundleRows* all) {
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  const int block = blockIdx.x, j = block % 4;
  const float* dense = net.weights + rows.member * net.member_size;
  float* to = fragments_of(net, rows, block);
  if (block < kProject1Blocks) {
    order_weights<kExact>(dense + kLift2 + j * 64 * 64, 64, block >= kLift2Back, to);
  } else if (block < kSkipBlocks) {
    order_weights<kExact>(dense + kProject1 + 64 * j, kHidden, block >= kProject1Back, to);
  } else {
    const int layer = (block - kSkipBlocks) / 2;
    order_weights<kExact>(dense + kLayers + layer * kLayerSize, 64, block % 2 == 1, to);
  }
}

__global__ void average_weights_kernel(Net net, const BundleRows* all) {
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0 || rows.average_part == 0.0f) return;
  const std::size_t first = rows.member * net.member_size;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < net.member_size;
       i += std::size_t(gridDim.x) * blockDim.x) {
    const float a = net.average[first + i];
    net.average[first + i] = a + rows.average_part * (net.weights[first + i] - a);
  }
}

__global__ void dense_step_kernel(Net net, const BundleRows* all, int ends_parts, int layer_parts,
                                  const float* ends, const float* layers, const double* losses,
                                  double* squares, float* gradient) {
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  const int size = dense_size(net.layers), i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i < size) {
    // The sums of lifting and projection, or those of the layers.
    const bool in_ends = i < kLayers;
    const int parts = in_ends ? ends_parts : layer_parts;
    const int stride = in_ends ? kLayers : size - kLayers;
    const float* from =
        (in_ends ? ends + i : layers + (i - kLayers)) + std::size_t(blockIdx.y) * parts * stride;
    float4 sum = make_float4(0, 0, 0, 0);
    // Nobody writes the sums of channels beyond the network's.
    const auto padding = [&](int at) {
      return (at < kLift1Bias && at / kHidden >= net.in) ||
             (at >= kProject2 && at < kProject2Bias && (at - kProject2) / kHidden >= net.out) ||
             (at >= kProject2Bias + net.out && at < kLayers);
    };
#pragma unroll 8
    for (int p = 0; p < parts; ++p) {
      const float4 part = *reinterpret_cast<const float4*>(from + std::size_t(p) * stride);
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
    if (padding(i)) sum.x = 0.0f;
    if (padding(i + 1)) sum.y = 0.0f;
    if (padding(i + 2)) sum.z = 0.0f;
    if (padding(i + 3)) sum.w = 0.0f;
    if (gradient != nullptr) {
      *reinterpret_cast<float4*>(gradient + i) = sum;
    } else {
      const float4 gradients[1] = {sum};
      adam(net, rows, rows.member * net.member_size + i, 0, gradients);
    }
  }
  if (i == 0) {
    double sum = 0.0;
    for (int p = 0; p < ends_parts; ++p) sum += losses[blockIdx.y * ends_parts + p];
    squares[blockIdx.y] += sum;
  }
}

}  // namespace

void order_weights(const Launch& l) {
  const dim3 grid(as_grid(kSkipBlocks + 2 * l.net.layers), as_grid(l.bundles));
  STAP_LAUNCH(l.exact, order_weights_kernel, <<<grid, kThreads, 0, l.stream>>>(l.net, l.rows));
}

void average_weights(const Launch& l) {
  constexpr std::size_t kValuesPerThread = 16;  // enough blocks to fill the device, few launches
  const std::size_t per_block = kValuesPerThread * kThreads;
  const auto blocks = static_cast<int>((l.net.member_size + per_block - 1) / per_block);
  const dim3 grid(as_grid(blocks), as_grid(l.bundles));
  average_weights_kernel<<<grid, kThreads, 0, l.stream>>>(l.net, l.rows);
  launched("average_weights");
}

void dense_step(const Launch& l, const float* ends, const float* layers, const double* losses,
                double* squares, float* gradient) {
  const dim3 grid(as_grid((dense_size(l.net.layers) / 4 + kThreads - 1) / kThreads),
                  as_grid(l.bundles));
  dense_step_kernel<<<grid, kThreads, 0, l.stream>>>(l.net, l.rows, parts_of(l.net.points),
                                                     layer_parts_of(l.net.points), ends, layers,
                                                     losses, squares, gradient);
  launched("dense_step");
}

}  // namespace stap::cuda
