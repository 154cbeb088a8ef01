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

// Products with kTiles times 8 channels of lines in shared memory. Which channel is which column is
// free (mma.cuh): of 32 channels lane group g takes 4 g .. 4 g + 3, one load, as columns g of four
// products, whose results a lane then holds for 8 channels in a row.
template <int kTiles>
inline constexpr bool kInFours = kTiles % 4 == 0;

// This lane's columns of one line, `line` being its first channel.
template <int kTiles>
__device__ inline void load_columns(const float* line, float (&b)[kTiles]) {
  if constexpr (kInFours<kTiles>) {
#pragma unroll
    for (int j = 0; j < kTiles; j += 4) {
      const float4 x = *reinterpret_cast<const float4*>(line + 8 * j + 4 * lane_group());
      b[j] = x.x;
      b[j + 1] = x.y;
      b[j + 2] = x.z;
      b[j + 3] = x.w;
    }
  } else {
#pragma unroll
    for (int j = 0; j < kTiles; ++j) b[j] = line[8 * j + lane_group()];
  }
}

// 16 lines of a pass' result from `first` on, of which this lane has lines g and g + 8; `to` is the
// panel's first channel.
template <int kTiles>
__device__ inline void store_columns(const Pass& pass, const float (&sum)[kTiles][4], int first,
                                     float* to) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int line = first + lane_group() + 8 * h;
    if (line >= pass.lines_out) continue;
    float* at = to + pass.out.offset(line);
    if constexpr (kInFours<kTiles>) {
#pragma unroll
      for (int j = 0; j < kTiles; j += 4)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          *reinterpret_cast<float4*>(at + 8 * j + 8 * lane_in_group() + 4 * e) =
              make_float4(sum[j][2 * h + e], sum[j + 1][2 * h + e], sum[j + 2][2 * h + e],
                          sum[j + 3][2 * h + e]);
    } else {
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
        *reinterpret_cast<float2*>(at + 8 * j + 2 * lane_in_group()) =
            make_float2(sum[j][2 * h], sum[j][2 * h + 1]);
    }
  }
}

// Fragments of a pass' matrix for kBlocks blocks of lines, read kAhead steps before they are used:
// they come from the second-level cache, which takes longer than the products of a step.
template <int kBlocks, int kAhead>
class MatrixAhead {
 public:
  // `last`: the step behind which nothing is read.
  __device__ MatrixAhead(const float4* const (&matrix)[kBlocks], int first, int last)
      : matrix_(matrix), last_(last) {
#pragma unroll
    for (int a = 0; a < kAhead; ++a) read(first + a, held_[a]);
  }
  // Of step s; steps are asked for one after the other.
  __device__ void next(int s, float4 (&m)[kBlocks]) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      m[i] = held_[0][i];
#pragma unroll
      for (int a = 0; a + 1 < kAhead; ++a) held_[a][i] = held_[a + 1][i];
    }
    read(s + kAhead, held_[kAhead - 1]);
  }

 private:
  __device__ void read(int s, float4 (&m)[kBlocks]) const {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) m[i] = __ldg(matrix_[i] + min(s, last_) * kWarp);
  }
  const float4* const (&matrix_)[kBlocks];
  int last_;
  float4 held_[kAhead][kBlocks];
};

// By one warp: lines 16 block .. 16 block + 15 of a pass' result, for the kColumns channels of the
// lines in shared memory, to `to`.
template <bool kExact, int kColumns>
__device__ inline void transform_block(const Pass& pass, int block, const float* lines, float* to) {
  constexpr int kStride = kLineStride<kColumns>, kTiles = kColumns / 8;
  const int steps = (pass.lines_in + 7) / 8;
  float sum[kTiles][4] = {};
#pragma unroll 4
  for (int s = 0; s < steps; ++s) {
    const float4 m = __ldg(pass.matrix + (block * steps + s) * kWarp + lane_index());
    const auto a = Left<kExact>::of_kept(m.x, m.y, m.z, m.w);
    const float* line = lines + (8 * s + lane_in_group()) * kStride;
    float b[2][kTiles];
    load_columns(line, b[0]);
    load_columns(line + 4 * kStride, b[1]);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) multiply(sum[j], a, b[0][j], b[1][j]);
  }
  store_columns(pass, sum, 16 * block, to);
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

// A whole panel for a warp's tiles: channels stand in the order in which a product with the panel
// gives a tile (mma.cuh), and those of four products in a row, so that one load brings them.
template <bool kExact>
__device__ inline void load_tile_panel(const Pass& pass, const float* panel, int lines, float* to) {
#pragma unroll 4
  for (int i = threadIdx.x; i < lines * 16; i += kThreads) {
    const int line = i / 16, piece = i % 16;
    float4 x = make_float4(0, 0, 0, 0);
    if (line < pass.lines_in)
      x = *reinterpret_cast<const float4*>(panel + pass.in.offset(line) + 4 * piece);
    float* at = to + line * kTileStride + piece / 8 * 32 + piece % 4 * 8 + piece / 4 % 2 * 2;
    *reinterpret_cast<float2*>(at) = make_float2(kept<kExact>(x.x), kept<kExact>(x.z));
    *reinterpret_cast<float2*>(at + 4) = make_float2(kept<kExact>(x.y), kept<kExact>(x.w));
  }
}

// sum += 16 rows of a pass' matrix times a panel of load_tile_panel().
template <bool kExact>
__device__ inline void multiply_panel(const float4* matrix, int steps, const float* panel,
                                      Tile& sum) {
  const float* line = panel + lane_in_group() * kTileStride;
  const float4* const mine[1] = {matrix + lane_index()};
  MatrixAhead<1, 2> ahead(mine, 0, steps - 1);
#pragma unroll 2
  for (int s = 0; s < steps; ++s, line += 8 * kTileStride) {
    float4 m[1];
    ahead.next(s, m);
    const auto a = Left<kExact>::of_kept(m[0].x, m[0].y, m[0].z, m[0].w);
    float b[2][8];
    load_columns(line, b[0]);
    load_columns(line + 4 * kTileStride, b[1]);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int c = j / 2 * 4 + j % 2 * 2;
      float d[4] = {sum.v[0][c], sum.v[0][c + 1], sum.v[1][c], sum.v[1][c + 1]};
      multiply(d, a, b[0][j], b[1][j]);
      sum.v[0][c] = d[0];
      sum.v[0][c + 1] = d[1];
      sum.v[1][c] = d[2];
      sum.v[1][c + 1] = d[3];
    }
  }
}

}  // namespace stap::cuda
