// Panels of a pass (kernels.h) in shared memory.
#pragma once

#include <cstddef>

#include "nn/cuda/block.cuh"

namespace stap::cuda {

__device__ inline std::size_t panel_begin(int panel, int inner, const Side& side) {
  return std::size_t(panel / inner) * side.outer + panel % inner * side.inner;
}

// Lines of kColumns channels in shared memory: so far apart that reads along lines have no bank
// conflicts.
template <int kColumns>
inline constexpr int kLineStride = kColumns + 8;
static_assert(kLineStride<64> == kTileStride);

// kColumns channels of lines first .. first+lines-1 of a panel into shared memory, by `threads`
// threads of which this is number `thread`; lines beyond the panel's are zero.
template <bool kExact, int kColumns>
__device__ inline void load_panel(const Pass& pass, const float* panel, int first, int lines,
                                  bool gelu_first, int thread, int threads, float* to) {
  constexpr int kPieces = kColumns / 4;
#pragma unroll 8
  for (int i = thread; i < lines * kPieces; i += threads) {
    const int line = i / kPieces, c = i % kPieces * 4;
    float4 x = make_float4(0, 0, 0, 0);
    if (first + line < pass.lines_in)
      x = *reinterpret_cast<const float4*>(panel + pass.in.offset(first + line) + c);
    if (gelu_first)
      x = make_float4(gelu<kExact>(x.x), gelu<kExact>(x.y), gelu<kExact>(x.z), gelu<kExact>(x.w));
    *reinterpret_cast<float4*>(to + line * kLineStride<kColumns> + c) = kept<kExact>(x);
  }
}

// A pair of channels of a line of a pass' result.
__device__ inline void store_pair(const Pass& pass, float* panel, int line, int channel, float a,
                                  float b) {
  if (line < pass.lines_out)
    *reinterpret_cast<float2*>(panel + pass.out.offset(line) + channel) = make_float2(a, b);
}

// By one warp: lines 16 block .. 16 block + 15 of a pass' result, for the kColumns channels of the
// lines in shared memory, to `to`.
template <bool kExact, int kColumns>
__device__ inline void transform_block(const Pass& pass, int block, const float* lines, float* to) {
  constexpr int kStride = kLineStride<kColumns>, kTiles = kColumns / 8;
  const int steps = (pass.lines_in + 7) / 8, g = lane_group(), t = lane_in_group();
  float sum[kTiles][4] = {};
#pragma unroll 4
  for (int s = 0; s < steps; ++s) {
    const float4 m = __ldg(pass.matrix + (block * steps + s) * kWarp + lane_index());
    const auto a = Left<kExact>::of_kept(m.x, m.y, m.z, m.w);
    const float* b = lines + (8 * s + t) * kStride + g;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) multiply(sum[j], a, b[8 * j], b[4 * kStride + 8 * j]);
  }
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    store_pair(pass, to, 16 * block + g, 8 * j + 2 * t, sum[j][0], sum[j][1]);
    store_pair(pass, to, 16 * block + g + 8, 8 * j + 2 * t, sum[j][2], sum[j][3]);
  }
}

// The first pass of a transform, of the field that a block has just made: `values` are this warp's
// points of tile `tile`, `shared` takes the block's. `to` is the bundle's.
template <bool kExact>
__device__ inline void transform_lines(const Pass& pass, const Tile& values, int tile,
                                       float* shared, float* to) {
  share_tile<kExact>(values, shared);
  __syncthreads();
  const int lines = kTilePoints / pass.lines_in, blocks = (pass.lines_out + 15) / 16;
  for (int i = warp_index(); i < lines * blocks; i += kWarps) {
    const int line = i / blocks, panel = tile * lines + line;
    if (panel < pass.panels)
      transform_block<kExact, 64>(pass, i % blocks, shared + line * pass.lines_in * kTileStride,
                                  to + panel_begin(panel, pass.inner, pass.out));
  }
}

// The same, for a warp's tiles: channels stand in the order in which a product with the panel gives
// a tile (mma.cuh).
template <bool kExact>
__device__ inline void load_tile_panel(const Pass& pass, const float* panel, int lines, float* to) {
#pragma unroll 4
  for (int i = threadIdx.x; i < lines * 16; i += kThreads) {
    const int line = i / 16, piece = i % 16;
    float4 x = make_float4(0, 0, 0, 0);
    if (line < pass.lines_in)
      x = *reinterpret_cast<const float4*>(panel + pass.in.offset(line) + 4 * piece);
    float* at = to + line * kTileStride + piece / 4 * 16 + piece % 4 * 2;
    *reinterpret_cast<float2*>(at) = make_float2(kept<kExact>(x.x), kept<kExact>(x.y));
    *reinterpret_cast<float2*>(at + 8) = make_float2(kept<kExact>(x.z), kept<kExact>(x.w));
  }
}

// sum += 16 rows of a pass' matrix times a panel of load_tile_panel().
template <bool kExact>
__device__ inline void multiply_panel(const float4* matrix, int steps, const float* panel,
                                      Tile& sum) {
  const float* b = panel + lane_in_group() * kTileStride + lane_group();
#pragma unroll 4
  for (int s = 0; s < steps; ++s, b += 8 * kTileStride) {
    const float4 m = __ldg(matrix + s * kWarp + lane_index());
    const auto a = Left<kExact>::of_kept(m.x, m.y, m.z, m.w);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int c = j / 2 * 4 + j % 2 * 2;
      float d[4] = {sum.v[0][c], sum.v[0][c + 1], sum.v[1][c], sum.v[1][c + 1]};
      multiply(d, a, b[8 * j], b[4 * kTileStride + 8 * j]);
      sum.v[0][c] = d[0];
      sum.v[0][c + 1] = d[1];
      sum.v[1][c] = d[2];
      sum.v[1][c + 1] = d[3];
    }
  }
}

}  // namespace stap::cuda
