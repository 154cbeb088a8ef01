// What the kernels on tiles share: a block of 8 warps works on 128 points of a bundle at a time,
// each warp on a tile of 16 (mma.cuh), with the weights of the bundle's member in shared memory.
#pragma once

#include <cstddef>

#include "nn/cuda/kernels.h"
#include "nn/cuda/mma.cuh"

namespace stap::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / kWarp;
static_assert(kWarps * 16 == kTilePoints);
inline constexpr int kBlockFloats = 4 * kBlockVectors;  // of one 64 x 64 block of weights

__device__ inline const BundleRows& bundle_rows(const BundleRows* rows) {
  return rows[blockIdx.y];
}
// Whether a tile has points of rows that are made. Asked again for every tile: there is no register
// to spare for the number of tiles.
__device__ inline bool is_made(const Net& net, const BundleRows& rows, int tile) {
  return tile * kTilePoints < rows.made * net.points;
}
__device__ inline int warp_index() {
  return threadIdx.x / kWarp;
}
__device__ inline int lane_index() {
  return threadIdx.x % kWarp;
}

__device__ inline void zero(Tile& tile) {
#pragma unroll
  for (int i = 0; i < 16; ++i) tile.v[0][i] = tile.v[1][i] = 0.0f;
}
template <class Function>
__device__ inline void transform_tile(Tile& tile, Function f) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    tile.v[0][i] = f(tile.v[0][i]);
    tile.v[1][i] = f(tile.v[1][i]);
  }
}

// z becomes GELU(z); d, the gradient of GELU(z), that of z.
template <bool kExact>
__device__ inline void back_through_gelu(Tile& z, Tile& d) {
#pragma unroll
  for (int i = 0; i < 16; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r) d.v[r][i] *= activate<kExact>(z.v[r][i]);
}

// A warp's tile of kept values into the block's shared one, [kTilePoints][kTileStride].
__device__ inline void share_kept(const Tile& tile, float* shared) {
  store_tile(tile, kTileStride, shared + warp_index() * 16 * kTileStride);
}
// A tile that has not been rounded.
template <bool kExact>
__device__ inline void share_tile(const Tile& tile, float* shared) {
  Tile rounded = tile;
  keep<kExact>(rounded);
  share_kept(rounded, shared);
}

// to[64] = the sums over warps of what each has from weighted_sums() (mma.cuh), by way of `shared`
// [kWarps][64], which nobody uses.
__device__ inline void add_up_warps(float2 sums, float* shared, float* to) {
  *reinterpret_cast<float2*>(shared + warp_index() * 64 + channel_of_sums()) = sums;
  __syncthreads();
  if (threadIdx.x >= 64) return;
  float sum = 0.0f;
  for (int w = 0; w < kWarps; ++w) sum += shared[w * 64 + threadIdx.x];
  to[threadIdx.x] = sum;
}

__device__ inline void copy_floats(const float* from, int n, float* to) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

// --- weights in fragment order -------------------------------------------------------------------
// Put in that order once after every step (dense.cu).

__device__ inline float* fragments_of(const Net& net, const BundleRows& rows, int block) {
  return net.fragments + rows.member * fragments_size(net.layers) +
         std::size_t(block) * kBlockFloats;
}

__device__ inline void copy_blocks(const float* from, int blocks, float* to) {
  const float4* source = reinterpret_cast<const float4*>(from);
  float4* target = reinterpret_cast<float4*>(to);
#pragma unroll 8
  for (int i = threadIdx.x; i < blocks * kBlockVectors; i += kThreads) target[i] = source[i];
}

}  // namespace stap::cuda
