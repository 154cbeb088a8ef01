// The lifting: states -> field, and back.
#include "nn/cuda/kernels.h"

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

// The scaled network input of the warp's 16 points, into thin[16 points of this warp][channel]:
// channels 0 .. in-1, zeros, and 1 in channel 15.
__device__ void load_input(const Net& net, const SlotRows& rows, int first, float* thin) {
  const int lane = lane_index();
  if (lane < 16) {
    const int q = first + lane, row = q / net.points, point = q % net.points;
    float* to = thin + (warp_index() * 16 + lane) * kThinStride;
#pragma unroll
    for (int c = 0; c < 15; ++c) to[c] = 0.0f;
    to[15] = 1.0f;
    if (row < rows.rows) {
      const float* mean = net.mean + rows.member * kChannels;
      const float* deviation = net.deviation + rows.member * kChannels;
      for (int c = 0; c < net.out; ++c)
        to[c] = (rows.in[row][c * net.points + point] - mean[c]) * (1.0f / deviation[c]);
      if (net.in > net.out) to[net.out] = rows.time[row];
    }
  }
  __syncwarp();
}

// Hidden layer of the lifting before its GELU: chunk j of 64 channels. `weights` is lift1 and its
// bias behind it.
__device__ void lift_hidden(const Net& net, const float* thin, const float* weights, int j,
                            Tile& hidden) {
  const float* bias = weights + kChannels * kHidden;
  fill_tile(bias + 64 * j, hidden);
  const float* mine = thin + (warp_index() * 16 + lane_group()) * kThinStride;
  for (int c = 0; c < net.in; ++c)
    add_scaled(mine[c], mine[8 * kThinStride + c], weights + c * kHidden + 64 * j, hidden);
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 2)
    lift_kernel(Net net, const SlotRows* all, float* field) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  float* weights2 = shared;
  float* weights1 = weights2 + kChunks * kBlockFloats;
  float* thin = weights1 + (kChannels + 1) * kHidden;
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kLift2Blocks), kChunks, weights2);
  copy_floats(dense + kLift1, (kChannels + 1) * kHidden, weights1);
  __syncthreads();
  field += blockIdx.y * net.field_size();
  const int tiles = net.tiles();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    load_input(net, rows, first, thin);
    Tile sum;
    fill_tile(dense + kLift2Bias, sum);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden;
      lift_hidden(net, thin, weights1, j, hidden);
      transform_tile(hidden, gelu<kExact>);
      multiply<kExact>(hidden, weights2 + j * kBlockFloats, sum);
    }
    store_tile(sum, 64, field + std::size_t(first) * 64);
    __syncwarp();
  }
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 1)
    lift_back_kernel(Net net, const SlotRows* all, const float* d_field, float* partial) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  float* weights2 = shared;
  float* weights1 = weights2 + kChunks * kBlockFloats;
  float* thin = weights1 + (kChannels + 1) * kHidden;
  float* d_tile = thin + kThinFloats;
  float* h_tile = d_tile + kTileFloats;
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kLift2Back), kChunks, weights2);
  copy_floats(dense + kLift1, (kChannels + 1) * kHidden, weights1);
  __syncthreads();
  d_field += blockIdx.y * net.field_size();
  OuterShare d_weights2[kChunks] = {};  // of lift2, hidden 64 j .. x 64
  float d_thin[kChunks][4] = {};        // of lift1 and its bias
  float d_bias2[4] = {};
  const int tiles = net.tiles();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    Tile d;
    load_tile(d_field + std::size_t(first) * 64, 64, d);
    __syncthreads();  // the tiles of the round before have been read
    load_input(net, rows, first, thin);
    share_tile<kExact>(d, d_tile);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden, d_hidden;
      lift_hidden(net, thin, weights1, j, hidden);
      zero(d_hidden);
      multiply<kExact>(d, weights2 + j * kBlockFloats, d_hidden);
      back_through_gelu<kExact>(hidden, d_hidden);
      if (j > 0) __syncthreads();
      share_tile<kExact>(hidden, h_tile);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kChunks; ++k)
        if (k == j) outer<kExact>(h_tile, d_tile, d_weights2[k]);
      if (j == 0) thin_outer<kExact>(thin, d_tile, d_bias2);
      __syncthreads();
      share_tile<kExact>(d_hidden, h_tile);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kChunks; ++k)
        if (k == j) thin_outer<kExact>(thin, h_tile, d_thin[k]);
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
  store_thin_row(d_bias2, 15, partial + kLift2Bias);
}

constexpr std::size_t kLiftBytes =
    bytes(kChunks * kBlockFloats + (kChannels + 1) * kHidden + kThinFloats);
constexpr std::size_t kLiftBackBytes = kLiftBytes + bytes(2 * kTileFloats);

template <bool kExact>
void prepare() {
  allow(lift_kernel<kExact>, kLiftBytes);
  allow(lift_back_kernel<kExact>, kLiftBackBytes);
}

}  // namespace

void prepare_lift() {
  prepare<true>();
  prepare<false>();
}

void lift(const Launch& l, float* field) {
  STAP_LAUNCH(l.exact, lift_kernel,
              <<<tiles_grid(l, 2), kThreads, kLiftBytes, l.stream>>>(l.net, l.rows, field));
}

void lift_back(const Launch& l, const float* d_field, float* partial) {
  STAP_LAUNCH(
      l.exact, lift_back_kernel,
      <<<parts_grid(l), kThreads, kLiftBackBytes, l.stream>>>(l.net, l.rows, d_field, partial));
}

}  // namespace stap::cuda
