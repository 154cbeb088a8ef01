// The lifting: states -> field, and back.
#include "nn/cuda/kernels.h"

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"
#include "nn/cuda/panel.cuh"

namespace stap::cuda {
namespace {

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
        to[c] = (rows.in[row][c * net.points + point] - mean[c]) * (1.0f / deviation[c]);
      if (net.timed) to[net.out] = rows.time[row];
      for (int c = net.placed; c < net.in; ++c)
        to[c] = net.positions[(c - net.placed) * net.points + point];
    }
  }
  __syncwarp();
}

// A warp's input as the products over points want it.
template <bool kExact>
__device__ void keep_input(const float* thin, float* to) {
#pragma unroll 4
  for (int i = lane_index(); i < 16 * kThinStride; i += kWarp) to[i] = kept<kExact>(thin[i]);
}

// Hidden layer of the lifting before its GELU: chunk j of 64 channels.
__device__ void lift_hidden(const Net& net, const float* thin, const float* weights,
                            const float* bias, int j, Tile& hidden) {
  fill_tile(bias + 64 * j, hidden);
  const float* mine = thin + lane_group() * kThinStride;
  for (int c = 0; c < net.in; ++c)
    add_scaled(mine[c], mine[8 * kThinStride + c], weights + c * kHidden + 64 * j, hidden);
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
      lift_hidden(net, thin, weights1, bias1, j, hidden);
      transform_tile(hidden, gelu<kExact>);
      multiply<kExact>(hidden, weights2 + j * kBlockFloats, sum);
    }
    store_tile(sum, 64, field + std::size_t(first) * 64);
    __syncwarp();
    if constexpr (kThen)
      transform_lines<kExact>(pass, sum, tile, tile_lines, half + blockIdx.y * pass.out.size);
  }
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 1)
    lift_back_kernel(Net net, const BundleRows* all, const float* d_field, float* partial) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  float* weights2 = shared;
  float* weights1 = weights2 + kChunks * kBlockFloats;
  float* thin = weights1 + (kChannels + 1) * kHidden;
  float* mine = thin + warp_index() * 16 * kThinStride;
  float* kept_thin = thin + kThinFloats;
  float* d_tile = kept_thin + kThinFloats;
  float* h_tile = d_tile + kTileFloats;
  float* d_hidden_tile = h_tile + kTileFloats;
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kLift2Back), kChunks, weights2);
  copy_floats(dense + kLift1, (kChannels + 1) * kHidden, weights1);
  __syncthreads();
  d_field += blockIdx.y * net.field_size();
  OuterShare d_weights2[kChunks] = {};  // of lift2, hidden 64 j .. x 64
  float d_thin[kChunks][4] = {};        // of lift1 and its bias
  float d_bias2[2] = {};
  const int tiles = net.tiles();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    Tile d;
    load_tile(d_field + std::size_t(first) * 64, 64, d);
    __syncthreads();  // the tiles of the round before have been read
    load_input(net, rows, first, mine);
    keep_input<kExact>(mine, kept_thin + warp_index() * 16 * kThinStride);
    keep<kExact>(d);
    share_kept(d, d_tile);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden, d_hidden;
      lift_hidden(net, mine, weights1, weights1 + kChannels * kHidden, j, hidden);
      zero(d_hidden);
      multiply<kExact, true>(d, weights2 + j * kBlockFloats, d_hidden);
      back_through_gelu<kExact>(hidden, d_hidden);
      if (j > 0) __syncthreads();
      share_tile<kExact>(hidden, h_tile);
      share_tile<kExact>(d_hidden, d_hidden_tile);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kChunks; ++k)
        if (k == j) {
          if (k == 0)
            outer<kExact, true>(h_tile, d_tile, d_weights2[k], d_bias2);
          else
            outer<kExact>(h_tile, d_tile, d_weights2[k]);
          thin_outer<kExact>(kept_thin, d_hidden_tile, d_thin[k]);
        }
    }
  }
  partial += (blockIdx.y * gridDim.x + blockIdx.x) * std::size_t(kLayers);
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    store_outer(d_weights2[j], 64, partial + kLift2 + j * 64 * 64);
#pragma unroll
    for (int c = 0; c < 15; ++c)
      if (c < net.in) store_thin_row(d_thin[j], c, partial + kLift1 + c * kHidden + 64 * j);
    store_thin_row(d_thin[j], 15, partial + kLift1Bias + 64 * j);
  }
  store_sums(d_bias2, partial + kLift2Bias);
}

constexpr std::size_t lift_bytes(int in, bool then) {
  return bytes(kChunks * kBlockFloats + (in + 1) * kHidden + (then ? kTileFloats : kThinFloats));
}
constexpr std::size_t kLiftBackBytes =
    bytes(kChunks * kBlockFloats + (kChannels + 1) * kHidden + 2 * kThinFloats + 3 * kTileFloats);
static_assert(kLiftBackBytes <= kSharedNeeded);

template <bool kExact>
void prepare() {
  allow(lift_kernel<kExact, false>, lift_bytes(kChannels, false));
  allow(lift_kernel<kExact, true>, lift_bytes(kChannels, true));
  allow(lift_back_kernel<kExact>, kLiftBackBytes);
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
  STAP_LAUNCH(
      l.exact, lift_back_kernel,
      <<<parts_grid(l), kThreads, kLiftBackBytes, l.stream>>>(l.net, l.rows, d_field, partial));
}

}  // namespace stap::cuda
