// Matrix products on tensor cores, as a warp holds them in registers.
//
// A warp's tile of a field is 16 points x 64 channels. Lane 4g + t (g = 0 .. 7, t = 0 .. 3) holds
// rows g and g + 8 and, of each, channels 16 i + 4 t + {0, 1, 2, 3}, i = 0 .. 3: in memory these
// are 16-byte pieces. The order in which a product runs over its inner index is free, and so is the
// order of its columns; both are chosen so that the tile that comes out of a product has the very
// layout the next one reads. So layers chain in registers, without shared memory between them.
#pragma once

#include <cstdint>

#include "nn/cuda/kernels.h"

namespace stap::cuda {

inline constexpr int kWarp = 32;
// float4 of one 64 x 64 weight block in fragment order, [8 steps][4 pairs of columns][lane].
inline constexpr int kBlockVectors = 8 * 4 * kWarp;

struct Tile {
  float v[2][16];
};

__device__ inline float to_tf32(float x) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

// d += a b, one m16n8k8 product of values that are tf32 already.
__device__ inline void mma_tf32(float (&d)[4], const float (&a)[4], float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

// Operands of the left side, rounded for the precision asked for. Exact keeps what rounding drops
// and adds its products: three tf32 products give single precision to a few units in the last
// place.
template <bool kExact>
struct Left {
  float high[4];
  float low[kExact ? 4 : 1];

  __device__ Left(float a0, float a1, float a2, float a3) {
    const float a[4] = {a0, a1, a2, a3};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      high[i] = to_tf32(a[i]);
      if constexpr (kExact) low[i] = to_tf32(a[i] - high[i]);
    }
  }
  // Of values that kept() has rounded: to round them again takes two instructions each.
  static __device__ Left of_kept(float a0, float a1, float a2, float a3) {
    if constexpr (kExact) return Left(a0, a1, a2, a3);
    Left left;
    left.high[0] = a0;
    left.high[1] = a1;
    left.high[2] = a2;
    left.high[3] = a3;
    return left;
  }

 private:
  Left() = default;
};

template <bool kExact>
__device__ inline void multiply(float (&d)[4], const Left<kExact>& a, float b0, float b1) {
  if constexpr (kExact) {
    const float h0 = to_tf32(b0), h1 = to_tf32(b1);
    mma_tf32(d, a.low, h0, h1);
    mma_tf32(d, a.high, to_tf32(b0 - h0), to_tf32(b1 - h1));
    mma_tf32(d, a.high, h0, h1);
  } else {
    mma_tf32(d, a.high, b0, b1);
  }
}

// A value as it is kept in shared memory, for right sides and Left::of_kept(): rounded once, here,
// unless exact.
template <bool kExact>
__device__ inline float kept(float x) {
  return kExact ? x : to_tf32(x);
}
template <bool kExact>
__device__ inline float4 kept(float4 x) {
  return make_float4(kept<kExact>(x.x), kept<kExact>(x.y), kept<kExact>(x.z), kept<kExact>(x.w));
}

// One 64 x 64 block of weights [k][n] (rows `stride` apart; transposed: [n][k]) into fragment
// order, by all threads of the block: each fills whole vectors, so that writes have no bank
// conflicts.
template <bool kExact>
__device__ inline void order_weights(const float* from, int stride, bool transposed, float* to) {
  const int along_k = transposed ? 1 : stride, along_n = transposed ? stride : 1;
#pragma unroll 4
  for (int i = threadIdx.x; i < kBlockVectors; i += blockDim.x) {
    const int lane = i % kWarp, g = lane / 4, t = lane % 4, pair = i / kWarp % 4,
              step = i / kWarp / 4;
    const int k = step / 2 * 16 + 4 * t + step % 2 * 2, n = pair * 16 + g / 2 * 4 + g % 2;
    const float* w = from + k * along_k + n * along_n;
    reinterpret_cast<float4*>(to)[i] =
        make_float4(kept<kExact>(w[0]), kept<kExact>(w[along_k]), kept<kExact>(w[2 * along_n]),
                    kept<kExact>(w[2 * along_n + along_k]));
  }
}

// The tile's values as kept() gives them. Those that are used more than once are rounded but once.
template <bool kExact>
__device__ inline void keep(Tile& tile) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    tile.v[0][i] = kept<kExact>(tile.v[0][i]);
    tile.v[1][i] = kept<kExact>(tile.v[1][i]);
  }
}

// sum += tile x weights, weights a 64 x 64 block in fragment order. kKept: of a tile of kept
// values.
template <bool kExact, bool kKept = false>
__device__ inline void multiply(const Tile& tile, const float* weights, Tile& sum) {
  const float4* b = reinterpret_cast<const float4*>(weights) + threadIdx.x % kWarp;
#pragma unroll
  for (int s = 0; s < 8; ++s) {
    const int at = s / 2 * 4 + s % 2 * 2;
    const auto& v = tile.v;
    const auto a = kKept ? Left<kExact>::of_kept(v[0][at], v[1][at], v[0][at + 1], v[1][at + 1])
                         : Left<kExact>(v[0][at], v[1][at], v[0][at + 1], v[1][at + 1]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 w = b[(s * 4 + i) * kWarp];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int c = 4 * i + 2 * h;
        float d[4] = {sum.v[0][c], sum.v[0][c + 1], sum.v[1][c], sum.v[1][c + 1]};
        multiply(d, a, h == 0 ? w.x : w.z, h == 0 ? w.y : w.w);
        sum.v[0][c] = d[0];
        sum.v[0][c + 1] = d[1];
        sum.v[1][c] = d[2];
        sum.v[1][c + 1] = d[3];
      }
    }
  }
}

// --- tiles in memory ---------------------------------------------------------------------------

__device__ inline int lane_group() {
  return threadIdx.x % kWarp / 4;
}
__device__ inline int lane_in_group() {
  return threadIdx.x % 4;
}

// 16 rows from `field`, `stride` floats apart.
__device__ inline void load_tile(const float* field, int stride, Tile& tile) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = lane_group() + 8 * r;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 x =
          *reinterpret_cast<const float4*>(field + row * stride + 16 * i + 4 * lane_in_group());
      tile.v[r][4 * i] = x.x;
      tile.v[r][4 * i + 1] = x.y;
      tile.v[r][4 * i + 2] = x.z;
      tile.v[r][4 * i + 3] = x.w;
    }
  }
}

__device__ inline void store_tile(const Tile& tile, int stride, float* field) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = lane_group() + 8 * r;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<float4*>(field + row * stride + 16 * i + 4 * lane_in_group()) = make_float4(
          tile.v[r][4 * i], tile.v[r][4 * i + 1], tile.v[r][4 * i + 2], tile.v[r][4 * i + 3]);
  }
}

// This lane's channels 4 i .. 4 i + 3 of 64 values.
__device__ inline float4 lane_values(const float* values, int i) {
  return *reinterpret_cast<const float4*>(values + 16 * i + 4 * lane_in_group());
}

// Every row the 64 values of `bias`.
__device__ inline void fill_tile(const float* bias, Tile& tile) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float4 b = lane_values(bias, i);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      tile.v[r][4 * i] = b.x;
      tile.v[r][4 * i + 1] = b.y;
      tile.v[r][4 * i + 2] = b.z;
      tile.v[r][4 * i + 3] = b.w;
    }
  }
}

// tile += x[row] values: the outer product of two numbers, one a row, and 64 values.
__device__ inline void add_scaled(float x0, float x1, const float* values, Tile& tile) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float4 w = lane_values(values, i);
    const float v[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      tile.v[0][4 * i + c] = fmaf(x0, v[c], tile.v[0][4 * i + c]);
      tile.v[1][4 * i + c] = fmaf(x1, v[c], tile.v[1][4 * i + c]);
    }
  }
}

// --- GELU ----------------------------------------------------------------------------------------

// These kernels make some 700 GELUs a point, so their instructions count more than those of the
// products. Exact: the normal distribution function by Abramowitz and Stegun 7.1.26 for erfc, to
// 1e-7. Otherwise as 1 / (1 + exp(-z r(z^2))), r a polynomial fitted to the logit: GELU to 3e-6,
// far below what tf32 drops, in two thirds of the instructions. erff() takes twice as many.

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float reciprocal_fast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// exp(-z^2/2)
__device__ inline float bell(float z) {
  return exp2_fast(-0.72134752f * z * z);
}

template <bool kExact>
__device__ inline float normal_below(float z) {
  if constexpr (kExact) {
    const float x = fabsf(z) * 0.70710678f;
    const float t = reciprocal_fast(fmaf(0.3275911f, x, 1.0f));
    float p = fmaf(1.061405429f, t, -1.453152027f);
    p = fmaf(p, t, 1.421413741f);
    p = fmaf(p, t, -0.284496736f);
    p = fmaf(p, t, 0.254829592f);
    const float tail = 0.5f * p * t * bell(z);
    return z < 0.0f ? tail : 1.0f - tail;
  } else {
    const float w = fminf(z * z, 25.0f);
    float r = fmaf(-3.2104157e-6f, w, 8.7910393e-5f);  // the fit, times -log2(e)
    r = fmaf(r, w, 3.6204480e-4f);
    r = fmaf(r, w, -1.0522997e-1f);
    r = fmaf(r, w, -2.3020438f);
    return reciprocal_fast(1.0f + exp2_fast(z * r));
  }
}

template <bool kExact>
__device__ inline float gelu(float z) {
  return z * normal_below<kExact>(z);
}
// z becomes GELU(z); returns its slope.
template <bool kExact>
__device__ inline float activate(float& z) {
  const float below = normal_below<kExact>(z), slope = fmaf(0.39894228f * z, bell(z), below);
  z *= below;
  return slope;
}

// --- products over points ------------------------------------------------------------------------
// Weight gradients sum over the points of a tile of kTilePoints, which all warps see in shared
// memory, rows kTileStride apart so that reads along points have no bank conflicts.

inline constexpr int kTileStride = 72;
inline constexpr int kThinStride = 24;  // tiles of at most 16 channels
inline constexpr int kTileFloats = kTilePoints * kTileStride;
inline constexpr int kThinFloats = kTilePoints * kThinStride;

// A warp's share of a 64 x 64 sum over points: 32 x 16, as 2 x 2 products. Which row or column of
// a product is which channel is free, too: lane group g holds rows 4 g + {0, 1, 2, 3} of the share
// and columns 2 g + {0, 1}, which one load brings for every point.
struct OuterShare {
  float d[2][2][4];
};
__device__ inline int outer_row() {
  return threadIdx.x / kWarp / 4 * 32;
}
__device__ inline int outer_column() {
  return threadIdx.x / kWarp % 4 * 16;
}

// share += left^T right, both [128][kTileStride] of kept values. kSums: sums += those of the
// columns themselves, by a product with ones (store_sums()), the same in all lane groups.
template <bool kExact, bool kSums>
__device__ inline void outer(const float* left, const float* right, OuterShare& share,
                             float (&sums)[2]) {
  const int g = lane_group(), t = lane_in_group();
  const float* l = left + outer_row() + 4 * g;
  const float* r = right + outer_column() + 2 * g;
  const bool second = outer_row() != 0;
  const Left<kExact> ones(1.0f, 1.0f, 1.0f, 1.0f);
  float sum[4] = {};
#pragma unroll 4
  for (int k = t; k < kTilePoints; k += 8) {
    const float2 b0 = *reinterpret_cast<const float2*>(r + k * kTileStride);
    const float2 b1 = *reinterpret_cast<const float2*>(r + (k + 4) * kTileStride);
    const float4 x = *reinterpret_cast<const float4*>(l + k * kTileStride);
    const float4 y = *reinterpret_cast<const float4*>(l + (k + 4) * kTileStride);
    const auto a0 = Left<kExact>::of_kept(x.x, x.y, y.x, y.y);
    const auto a1 = Left<kExact>::of_kept(x.z, x.w, y.z, y.w);
    multiply(share.d[0][0], a0, b0.x, b1.x);
    multiply(share.d[0][1], a0, b0.y, b1.y);
    multiply(share.d[1][0], a1, b0.x, b1.x);
    multiply(share.d[1][1], a1, b0.y, b1.y);
    if constexpr (kSums) multiply(sum, ones, second ? b0.y : b0.x, second ? b1.y : b1.x);
  }
  if constexpr (kSums) {
    sums[0] += sum[0];
    sums[1] += sum[1];
  }
}

template <bool kExact>
__device__ inline void outer(const float* left, const float* right, OuterShare& share) {
  float none[2];
  outer<kExact, false>(left, right, share, none);
}

// A warp's share of a 16 x 64 sum over points: its 8 columns. thin is [128][kStride], kThinStride
// or, of at most 8 channels, 8, of kept values if kKept; lane group g holds its channels 2 g and 2
// g + 1.
template <bool kExact, bool kKept, int kStride>
__device__ inline void thin_outer(const float* thin, const float* right, float (&share)[4]) {
  const int g = lane_group(), t = lane_in_group();
  const float* r = right + threadIdx.x / kWarp * 8 + g;
  const auto pair = [&](int k) {
    if (2 * g >= kStride) return make_float2(0.0f, 0.0f);
    return *reinterpret_cast<const float2*>(thin + k * kStride + 2 * g);
  };
  float parts[4][4] = {};  // one sum would wait for its own last product every time
#pragma unroll
  for (int s = 0; s < kTilePoints / 8; ++s) {
    const int k = 8 * s + t;
    const float2 x = pair(k), y = pair(k + 4);
    const auto a =
        kKept ? Left<kExact>::of_kept(x.x, x.y, y.x, y.y) : Left<kExact>(x.x, x.y, y.x, y.y);
    multiply(parts[s % 4], a, r[k * kTileStride], r[(k + 4) * kTileStride]);
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) share[e] += (parts[0][e] + parts[1][e]) + (parts[2][e] + parts[3][e]);
}

// `to` and stride: multiples of four floats.
__device__ inline void store_outer(const OuterShare& share, int stride, float* to) {
  to += (outer_row() + 4 * lane_group()) * stride + outer_column() + 4 * lane_in_group();
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<float4*>(to + (2 * i + h) * stride) =
          make_float4(share.d[i][0][2 * h], share.d[i][1][2 * h], share.d[i][0][2 * h + 1],
                      share.d[i][1][2 * h + 1]);
}

// The sums of outer() over points go to to[column].
__device__ inline void store_sums(const float (&sums)[2], float* to) {
  if (lane_group() != 0) return;
  to += outer_column() + 4 * lane_in_group() + outer_row() / 32;
  to[0] = sums[0];
  to[2] = sums[1];
}

// Row `row` (0 .. 15) of a thin sum goes to to[column].
__device__ inline void store_thin_row(const float (&share)[4], int row, float* to) {
  const int g = lane_group(), t = lane_in_group(), column = threadIdx.x / kWarp * 8 + 2 * t;
  if (g == row / 2) {
    to[column] = share[row % 2 * 2];
    to[column + 1] = share[row % 2 * 2 + 1];
  }
}

// Halves of what is left of 2 kHalf sums change hands between lane groups, which add them up.
template <int kHalf>
__device__ inline void halve_sums(float (&sum)[16]) {
  const bool upper = lane_group() & (kHalf / 2);
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const float mine = upper ? sum[i + kHalf] : sum[i], other = upper ? sum[i] : sum[i + kHalf];
    sum[i] = mine + __shfl_xor_sync(~0u, other, 2 * kHalf);
  }
}

// Sums over the 16 points of a warp's tile, times x0 (of its first 8 points) or x1. Each lane gets
// two of the 64, of channel_of_sums() and the next.
__device__ inline float2 weighted_sums(const Tile& tile, float x0, float x1) {
  float sum[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) sum[i] = fmaf(x0, tile.v[0][i], x1 * tile.v[1][i]);
  halve_sums<8>(sum);
  halve_sums<4>(sum);
  halve_sums<2>(sum);
  return make_float2(sum[0], sum[1]);
}
__device__ inline int channel_of_sums() {
  return lane_group() / 2 * 16 + 4 * lane_in_group() + lane_group() % 2 * 2;
}

}  // namespace stap::cuda
