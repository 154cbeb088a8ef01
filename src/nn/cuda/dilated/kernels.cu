#include "nn/cuda/dilated/kernels.h"

#include "nn/cuda/adam.cuh"
#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

__device__ float* blocks_of(const Net& net, const BundleRows& rows, const Taps& taps, int block) {
  return net.fragments + (std::size_t(rows.member) * taps.blocks() + block) * kBlockFloats;
}

template <bool kExact>
__global__ void order_taps_kernel(Net net, Taps taps, const BundleRows* all) {
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  const int block = blockIdx.x, layer = block / 2 / taps.count, tap = block / 2 % taps.count;
  const float* weights =
      net.weights + rows.member * net.member_size + taps.layer(layer) + tap * 64 * 64;
  order_weights<kExact>(weights, 64, block % 2 == 1, blocks_of(net, rows, taps, block));
}

// A thread a point: few enough of all work.
__global__ void dilated_input_kernel(Net net, const BundleRows* all, float* field) {
  const BundleRows& rows = bundle_rows(all);
  const int q = blockIdx.x * blockDim.x + threadIdx.x, row = q / net.points, p = q % net.points;
  if (row >= rows.made) return;
  const float* mean = net.mean + rows.member * kChannels;
  const float* deviation = net.deviation + rows.member * kChannels;
  float* to = field + blockIdx.y * net.field_size() + std::size_t(q) * 64;
  for (int c = 0; c < 64; ++c) {
    float x = 0.0f;
    if (row < rows.rows) {
      if (c < net.out)
        x = (rows.in[row][c * net.points + p] - mean[c]) * (1.0f / deviation[c]);
      else if (c < net.out + net.told)
        x = rows.told[row][c - net.out];
      else if (c >= net.placed && c < net.in)
        x = net.positions[(c - net.placed) * net.points + p];
    }
    to[c] = x;
  }
}

// The warp's 16 points from `first` on, each from where `source` says; zeros for none.
__device__ void gather_tile(const Net& net, const float* field, const std::uint32_t* source,
                            int first, Tile& tile) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int q = first + lane_group() + 8 * r, row = q / net.points;
    const int from = row < kRows ? int(source[q - row * net.points]) : net.points;
    const float* x = field + (std::size_t(row) * net.points + from) * 64 + 4 * lane_in_group();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 v = from < net.points ? *reinterpret_cast<const float4*>(x + 16 * i)
                                         : make_float4(0, 0, 0, 0);
      tile.v[r][4 * i] = v.x;
      tile.v[r][4 * i + 1] = v.y;
      tile.v[r][4 * i + 2] = v.z;
      tile.v[r][4 * i + 3] = v.w;
    }
  }
}

__device__ float4 load_four(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}
__device__ void store_four(const float (&v)[4], float* to) {
  *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
}
__device__ void multiply_four(float (&v)[4], float4 by) {
  v[0] *= by.x;
  v[1] *= by.y;
  v[2] *= by.z;
  v[3] *= by.w;
}

// What becomes of the sums of the warp's 16 points, the first of which stands at `first` (in floats
// from the beginning of all bundles). Four channels at a time: registers are full of sums.
template <bool kExact>
__device__ void finish_tile(const Convolution& c, std::size_t first, const Tile& sum) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::size_t at = first + (lane_group() + 8 * r) * 64 + 16 * i + 4 * lane_in_group();
      float y[4] = {sum.v[r][4 * i], sum.v[r][4 * i + 1], sum.v[r][4 * i + 2], sum.v[r][4 * i + 3]};
      if (c.gelu) {
        float slope[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) slope[k] = activate<kExact>(y[k]);
        if (c.slope != nullptr) store_four(slope, c.slope + at);
      }
      if (c.factor != nullptr) multiply_four(y, load_four(c.factor + at));
      if (c.add != nullptr) {
        const float4 other = load_four(c.add + at);
        y[0] += other.x;
        y[1] += other.y;
        y[2] += other.z;
        y[3] += other.w;
      }
      store_four(y, c.y + at);
      if (c.product == nullptr) continue;
      multiply_four(y, load_four(c.before + at));
      store_four(y, c.product + at);
    }
}

// A block makes one tile. Weights come to shared memory tap by tap, and while one block waits for
// them, another of the multiprocessor computes.
template <bool kExact>
__global__ void __launch_bounds__(kThreads, 2)
    convolve_kernel(Net net, Taps taps, const BundleRows* all, Convolution c) {
  __shared__ __align__(16) float weights[kBlockFloats];
  const BundleRows& rows = bundle_rows(all);
  if (!is_made(net, rows, blockIdx.x)) return;
  const std::size_t bundle = blockIdx.y * net.field_size();
  const int first = blockIdx.x * kTilePoints + warp_index() * 16;
  Tile sum;
  if (c.forward)
    fill_tile(net.weights + rows.member * net.member_size + taps.bias(c.layer), sum);
  else
    zero(sum);
  for (int e = 0; e < c.table.entries; ++e) {
    const int block = 2 * (c.layer * taps.count + int(c.table.tap[e])) + (c.forward ? 0 : 1);
    Tile x;
    gather_tile(net, c.x + bundle, c.table.source + std::size_t(e) * net.points, first, x);
    __syncthreads();  // the weights of the entry before have been read
    copy_blocks(blocks_of(net, rows, taps, block), 1, weights);
    __syncthreads();
    multiply<kExact>(x, weights, sum);
  }
  finish_tile<kExact>(c, bundle + std::size_t(first) * 64, sum);
}

__global__ void dilated_output_kernel(Net net, const BundleRows* all, const float* field) {
  const BundleRows& rows = bundle_rows(all);
  const int q = blockIdx.x * blockDim.x + threadIdx.x, row = q / net.points, p = q % net.points;
  if (row >= rows.rows) return;
  const float* x = field + blockIdx.y * net.field_size() + std::size_t(q) * 64;
  for (int c = 0; c < net.out; ++c) {
    const int at = c * net.points + p;
    const float mean = net.mean[rows.member * kChannels + c];
    rows.out[row][at] =
        (net.delta ? rows.in[row][at] : mean) + net.deviation[rows.member * kChannels + c] * x[c];
  }
}

// Squared errors of a part's points in a fixed order: by thread, then along a tree.
__global__ void __launch_bounds__(kThreads)
    dilated_loss_kernel(Net net, const BundleRows* all, float* field, double* losses) {
  __shared__ double sums[kThreads];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  const float* mean = net.mean + rows.member * kChannels;
  const float* deviation = net.deviation + rows.member * kChannels;
  const float* factors = net.loss_factors + rows.member * kChannels;
  const int points = rows.rows * net.points;
  const float weight = 2.0f / float(points * net.out);
  double squares = 0.0;
  for (int q = blockIdx.x * kThreads + threadIdx.x; q < net.field_points();
       q += gridDim.x * kThreads) {
    float* x = field + blockIdx.y * net.field_size() + std::size_t(q) * 64;
    for (int c = 0; c < 64; ++c) {
      float d = 0.0f;
      if (q < points && c < net.out) {
        const int row = q / net.points, at = c * net.points + q % net.points;
        const float base = (net.delta ? rows.in[row][at] : mean[c]) - rows.target[row][at];
        const float error = fmaf(deviation[c], x[c], base) * factors[c];
        squares += double(error) * double(error);
        d = weight * (deviation[c] * factors[c]) * error;
      }
      x[c] = d;
    }
  }
  sums[threadIdx.x] = squares;
  __syncthreads();
  for (int n = kThreads / 2; n > 0; n /= 2) {
    if (int(threadIdx.x) < n) sums[threadIdx.x] += sums[threadIdx.x + n];
    __syncthreads();
  }
  if (threadIdx.x == 0) losses[blockIdx.y * gridDim.x + blockIdx.x] = sums[0];
}

// Block x is tap x % taps of part x / taps.
template <bool kExact>
__global__ void __launch_bounds__(kThreads, 2)
    tap_gradient_kernel(Net net, Taps taps, const BundleRows* all, Table table, const float* x,
                        const float* d, float* partial) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  float *x_tile = shared, *d_tile = shared + kTileFloats;
  const int tap = blockIdx.x % taps.count, part = blockIdx.x / taps.count;
  const int parts = gridDim.x / taps.count;
  const std::size_t bundle = blockIdx.y * net.field_size();
  OuterShare share = {};
  float sums[2] = {};
  for (int tile = part; tile < net.tiles(); tile += parts) {
    const int first = tile * kTilePoints + warp_index() * 16;
    Tile values;
    gather_tile(net, x + bundle, table.source + std::size_t(tap) * net.points, first, values);
    share_tile<kExact>(values, x_tile);
    load_tile(d + bundle + std::size_t(first) * 64, 64, values);
    share_tile<kExact>(values, d_tile);
    __syncthreads();
    outer<kExact, true>(x_tile, d_tile, share, sums);
    __syncthreads();
  }
  partial += (std::size_t(blockIdx.y) * parts + part) * taps.layer_size();
  store_outer(share, 64, partial + tap * 64 * 64);
  if (tap == 0) store_sums(sums, partial + taps.count * 64 * 64);
}

__global__ void dilated_step_kernel(Net net, const BundleRows* all, int at, int size, int parts,
                                    const float* partial, const double* losses, double* squares,
                                    float* gradient) {
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i < size) {
    const float* from = partial + std::size_t(blockIdx.y) * parts * size + i;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int p = 0; p < parts; ++p) {
      const float4 part = *reinterpret_cast<const float4*>(from + std::size_t(p) * size);
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
    if (gradient != nullptr) {
      *reinterpret_cast<float4*>(gradient + at + i) = sum;
    } else {
      const float4 gradients[1] = {sum};
      adam(net, rows, rows.member * net.member_size + at + i, 0, gradients);
    }
  }
  if (i == 0 && losses != nullptr) {
    double sum = 0.0;
    for (int p = 0; p < parts; ++p) sum += losses[blockIdx.y * parts + p];
    squares[blockIdx.y] += sum;
  }
}

constexpr std::size_t kTapGradientBytes = bytes(2 * kTileFloats);
static_assert(kTapGradientBytes <= kSharedOfTwo);

dim3 points_grid(const Launch& l) {
  return dim3(as_grid((l.net.field_points() + kThreads - 1) / kThreads), as_grid(l.bundles));
}

}  // namespace

void prepare_dilated() {
  allow(tap_gradient_kernel<true>, kTapGradientBytes);
  allow(tap_gradient_kernel<false>, kTapGradientBytes);
}

void order_weights(const Launch& l, const Taps& taps) {
  const dim3 grid(as_grid(taps.blocks()), as_grid(l.bundles));
  STAP_LAUNCH(l.exact, order_taps_kernel, <<<grid, kThreads, 0, l.stream>>>(l.net, taps, l.rows));
}

void dilated_input(const Launch& l, float* field) {
  dilated_input_kernel<<<points_grid(l), kThreads, 0, l.stream>>>(l.net, l.rows, field);
  launched("dilated_input");
}

void convolve(const Launch& l, const Taps& taps, const Convolution& convolution) {
  const dim3 grid(as_grid(l.net.tiles()), as_grid(l.bundles));
  STAP_LAUNCH(l.exact, convolve_kernel,
              <<<grid, kThreads, 0, l.stream>>>(l.net, taps, l.rows, convolution));
}

void dilated_output(const Launch& l, const float* field) {
  dilated_output_kernel<<<points_grid(l), kThreads, 0, l.stream>>>(l.net, l.rows, field);
  launched("dilated_output");
}

void dilated_loss(const Launch& l, float* field, double* losses) {
  const dim3 grid(as_grid(layer_parts_of(l.net.points)), as_grid(l.bundles));
  dilated_loss_kernel<<<grid, kThreads, 0, l.stream>>>(l.net, l.rows, field, losses);
  launched("dilated_loss");
}

void tap_gradient(const Launch& l, const Taps& taps, const Table& table, const float* x,
                  const float* d, float* partial) {
  const dim3 grid(as_grid(taps.count * layer_parts_of(l.net.points)), as_grid(l.bundles));
  STAP_LAUNCH(
      l.exact, tap_gradient_kernel,
      <<<grid, kThreads, kTapGradientBytes, l.stream>>>(l.net, taps, l.rows, table, x, d, partial));
}

void dilated_step(const Launch& l, const Taps& taps, int layer, const float* partial,
                  const double* losses, double* squares, float* gradient) {
  const int size = taps.layer_size();
  const dim3 grid(as_grid((size / 4 + kThreads - 1) / kThreads), as_grid(l.bundles));
  dilated_step_kernel<<<grid, kThreads, 0, l.stream>>>(l.net, l.rows, taps.layer(layer), size,
                                                       layer_parts_of(l.net.points), partial,
                                                       losses, squares, gradient);
  launched("dilated_step");
}

}  // namespace stap::cuda
