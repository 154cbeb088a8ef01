// Panels of a pass (kernels.h) in shared memory.
#pragma once

#include <cstddef>

#include "nn/cuda/block.cuh"

namespace stap::cuda {

__device__ inline std::size_t panel_begin(int panel, int inner, const Side& side) {
  return std::size_t(panel / inner) * side.outer + panel % inner * side.inner;
}

// Lines first .. first+lines-1 of a panel into shared memory, [line][kTileStride], by `threads`
// threads of which this is number `thread`; lines beyond the panel's are zero.
template <bool kExact>
__device__ inline void load_panel(const Pass& pass, const float* panel, int first, int lines,
                                  bool gelu_first, int thread, int threads, float* to) {
#pragma unroll 8
  for (int i = thread; i < lines * 16; i += threads) {
    const int line = i / 16, c = i % 16 * 4;
    float4 x = make_float4(0, 0, 0, 0);
    if (first + line < pass.lines_in)
      x = *reinterpret_cast<const float4*>(panel + pass.in.offset(first + line) + c);
    if (gelu_first)
      x = make_float4(gelu<kExact>(x.x), gelu<kExact>(x.y), gelu<kExact>(x.z), gelu<kExact>(x.w));
    *reinterpret_cast<float4*>(to + line * kTileStride + c) =
        make_float4(right_side<kExact>(x.x), right_side<kExact>(x.y), right_side<kExact>(x.z),
                    right_side<kExact>(x.w));
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
    *reinterpret_cast<float2*>(at) = make_float2(right_side<kExact>(x.x), right_side<kExact>(x.y));
    *reinterpret_cast<float2*>(at + 8) =
        make_float2(right_side<kExact>(x.z), right_side<kExact>(x.w));
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
    const Left<kExact> a(m.x, m.y, m.z, m.w);
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
