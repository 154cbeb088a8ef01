// The lifting: states -> field, and back.
#include "nn/cuda/kernels.h"

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"
#include "nn/cuda/panel.cuh"

namespace stap::cuda {
namespace {

// The state's channel `values` at a point of the body's grid.
__device__ float gathered(const Net& net, const float* values, int point) {
  if (net.table == nullptr) return values[point];
  const BodyPoint& made = net.table[point];
  float sum = 0.0f;
  for (int s = 0; s < made.sources; ++s) sum += made.weight[s] * values[made.from[s]];
  return sum;
}

// The scaled network input of the warp's 16 points, into its thin[16][kThinStride]: channels
// 0 .. in-1, zeros, and 1 in channel 15.
__device__ void load_input(const Net& net, const BundleRows& rows, int first, float* thin) {
  const int lane = lane_index();
  if (lane < 16) {
    const int q = first + lane, row = q / net.points, point = q % net.points;
    float* to = thin + lane * kThinStride;
#pragma unroll
    for (int c = 0; c < 15; ++c) to[c] = 0.0f;
    to[15] = 1.0f;
    if (row < rows.rows) {
      const float* mean = net.mean + rows.member * kChannels;
      const float* deviation = net.deviation + rows.member * kChannels;
      for (int c = 0; c < net.out; ++c)
        to[c] = (gathered(net, rows.in[row] + c * net.state_points, point) - mean[c]) *
                (1.0f / deviation[c]);
      for (int c = 0; c < net.told; ++c) to[net.out + c] = rows.told[row][c];
      for (int c = net.placed; c < net.in; ++c)
        to[c] = net.positions[(c - net.placed) * net.points + point];
    }
  }
  __syncwarp();
}

// A chunk of 64 channels of the lifting's hidden layer before its GELU. weights are its columns,
// rows `stride` apart.
__device__ void lift_hidden(const Net& net, const float* thin, const float* weights, int stride,
                            const float* bias, Tile& hidden) {
  fill_tile(bias, hidden);
  const float* mine = thin + lane_group() * kThinStride;
  for (int c = 0; c < net.in; ++c)
    add_scaled(mine[c], mine[8 * kThinStride + c], weights + c * stride, hidden);
}

// kThen: the first pass of the field's transform, to half.
template <bool kExact, bool kThen>
__global__ void __launch_bounds__(kThreads, 2)
    lift_kernel(Net net, const BundleRows* all, float* field, Pass pass, float* half) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (!is_made(net, rows, blockIdx.x)) return;
  float* weights2 = shared;
  float* bias1 = weights2 + kChunks * kBlockFloats;
  float* weights1 = bias1 + kHidden;
  // A warp's input lies where its share of the tile that is transformed will.
  float* tile_lines = weights1 + net.in * kHidden;
  float* thin = tile_lines + warp_index() * (kThen ? 16 * kTileStride : 16 * kThinStride);
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kLift2Blocks), kChunks, weights2);
  copy_floats(dense + kLift1Bias, kHidden, bias1);
  copy_floats(dense + kLift1, net.in * kHidden, weights1);
  field += blockIdx.y * net.field_size();
  for (int tile = blockIdx.x; is_made(net, rows, tile); tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    __syncthreads();  // the weights are there, the tile of the round before has been read
    load_input(net, rows, first, thin);
    Tile sum;
    fill_tile(dense + kLift2Bias, sum);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden;
      lift_hidden(net, thin, weights1 + 64 * j, kHidden, bias1 + 64 * j, hidden);
      transform_tile(hidden, gelu<kExact>);
      multiply<kExact>(hidden, weights2 + j * kBlockFloats, sum);
    }
    store_tile(sum, 64, field + std::size_t(first) * 64);
    __syncwarp();
    if constexpr (kThen)
      transform_lines<kExact>(pass, sum, tile, tile_lines, half + blockIdx.y * pass.out.size);
  }
}

// A block works on one chunk of the hidden layer: block x is part x / kChunks, chunk x % kChunks.
// kSingle: of a network with one input. The gradient of its first weights is then summed in
// registers; with more, by products over points.
template <bool kExact, bool kSingle>
__global__ void __launch_bounds__(kThreads, 2)
    lift_back_kernel(Net net, const BundleRows* all, const float* d_field, float* partial) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  const int chunk = blockIdx.x % kChunks, parts = gridDim.x / kChunks;
  float* weights2 = shared;
  float* d_tile = weights2 + kBlockFloats;
  float* h_tile = d_tile + kTileFloats;
  float* thin = h_tile + kTileFloats;
  float* bias1 = thin + kThinFloats;
  float* weights1 = bias1 + 64;  // [in][64]
  float* mine = thin + warp_index() * 16 * kThinStride;
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kLift2Back + chunk), 1, weights2);
  copy_floats(dense + kLift1Bias + 64 * chunk, 64, bias1);
  for (int i = threadIdx.x; i < net.in * 64; i += kThreads)
    weights1[i] = dense[kLift1 + i / 64 * kHidden + 64 * chunk + i % 64];
  d_field += blockIdx.y * net.field_size();
  OuterShare d_weights2 = {};  // of lift2, hidden 64 chunk .. x 64
  float d_thin[4] = {};        // of lift1 and its bias
  float d_bias2[2] = {};
  const int tiles = net.tiles();
  for (int tile = blockIdx.x / kChunks; tile < tiles; tile += parts) {
    const int first = tile * kTilePoints + warp_index() * 16;
    Tile d, d_hidden;
    load_tile(d_field + std::size_t(first) * 64, 64, d);
    __syncthreads();  // the weights are there, the tiles of the round before have been read
    load_input(net, rows, first, mine);
    keep<kExact>(d);
    share_kept(d, d_tile);
    zero(d_hidden);
    multiply<kExact, true>(d, weights2, d_hidden);
    Tile hidden;
    lift_hidden(net, mine, weights1, 64, bias1, hidden);
    back_through_gelu<kExact>(hidden, d_hidden);
    share_tile<kExact>(hidden, h_tile);
    if constexpr (kSingle) {
      const float* x = mine + lane_group() * kThinStride;
      const float2 sums = weighted_sums(d_hidden, x[0], x[8 * kThinStride]);
      const float2 bias_sums = weighted_sums(d_hidden, 1.0f, 1.0f);
      d_thin[0] += sums.x;
      d_thin[1] += sums.y;
      d_thin[2] += bias_sums.x;
      d_thin[3] += bias_sums.y;
    }
    __syncthreads();
    if (chunk == 0)
      outer<kExact, true>(h_tile, d_tile, d_weights2, d_bias2);
    else
      outer<kExact>(h_tile, d_tile, d_weights2);
    if constexpr (!kSingle) {
      __syncthreads();
      share_tile<kExact>(d_hidden, h_tile);
      __syncthreads();
      thin_outer<kExact, false, kThinStride>(thin, h_tile, d_thin);
    }
  }
  partial += (blockIdx.y * parts + blockIdx.x / kChunks) * std::size_t(kLayers);
  store_outer(d_weights2, 64, partial + kLift2 + chunk * 64 * 64);
  if (chunk == 0) store_sums(d_bias2, partial + kLift2Bias);
  float* d_lift1 = partial + kLift1 + 64 * chunk;
  float* d_lift1_bias = partial + kLift1Bias + 64 * chunk;
  if constexpr (kSingle) {
    __syncthreads();
    add_up_warps(make_float2(d_thin[0], d_thin[1]), h_tile, d_lift1);
    add_up_warps(make_float2(d_thin[2], d_thin[3]), d_tile, d_lift1_bias);
  } else {
#pragma unroll
    for (int c = 0; c < 15; ++c)
      if (c < net.in) store_thin_row(d_thin, c, d_lift1 + c * kHidden);
    store_thin_row(d_thin, 15, d_lift1_bias);
  }
}

constexpr std::size_t lift_bytes(int in, bool then) {
  return bytes(kChunks * kBlockFloats + (in + 1) * kHidden + (then ? kTileFloats : kThinFloats));
}
constexpr std::size_t kLiftBackBytes =
    bytes(kBlockFloats + 2 * kTileFloats + kThinFloats + (kChannels + 1) * 64);
static_assert(kLiftBackBytes <= kSharedOfTwo);

template <bool kExact>
void prepare() {
  allow(lift_kernel<kExact, false>, lift_bytes(kChannels, false));
  allow(lift_kernel<kExact, true>, lift_bytes(kChannels, true));
  allow(lift_back_kernel<kExact, true>, kLiftBackBytes);
  allow(lift_back_kernel<kExact, false>, kLiftBackBytes);
}

}  // namespace

void prepare_lift() {
  prepare<true>();
  prepare<false>();
}

void lift(const Launch& l, float* field, const Pass* then, float* half) {
  const std::size_t size = lift_bytes(l.net.in, then != nullptr);
  const Pass pass = then != nullptr ? *then : Pass{};
  const auto run = [&](auto kernel) {
    kernel<<<tiles_grid(l), kThreads, size, l.stream>>>(l.net, l.rows, field, pass, half);
    launched("lift");
  };
  if (l.exact) {
    then != nullptr ? run(lift_kernel<true, true>) : run(lift_kernel<true, false>);
  } else {
    then != nullptr ? run(lift_kernel<false, true>) : run(lift_kernel<false, false>);
  }
}

void lift_back(const Launch& l, const float* d_field, float* partial) {
  const auto run = [&](auto kernel) {
    kernel<<<chunks_grid(l), kThreads, kLiftBackBytes, l.stream>>>(l.net, l.rows, d_field, partial);
    launched("lift_back");
  };
  const bool single = l.net.in == 1;
  if (l.exact) {
    single ? run(lift_back_kernel<true, true>) : run(lift_back_kernel<true, false>);
  } else {
    single ? run(lift_back_kernel<false, true>) : run(lift_back_kernel<false, false>);
  }
}

}  // namespace stap::cuda
