// The product of a spectrum with the weights of its modes, and back, with their Adam step.
#include "nn/cuda/kernels.h"

#include "nn/cuda/adam.cuh"
#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

constexpr int kModeStride = 72;       // of weights [64][.] in shared memory: reads along rows
constexpr int kSpectrumStride = 132;  // of rows [32][re 64, im 64, .]

// spectrum [32][128] -> shared [32][kSpectrumStride].
template <bool kExact>
__device__ void load_spectrum(const float* from, float* to) {
#pragma unroll 4
  for (int i = threadIdx.x; i < kRows * 32; i += kThreads)
    *reinterpret_cast<float4*>(to + i / 32 * kSpectrumStride + i % 32 * 4) =
        kept<kExact>(*reinterpret_cast<const float4*>(from + i * 4));
}

// A warp's share of a complex product [32 rows][64] x [64][64]: both parts of 8 columns, added to
// re and im. w(part, k, n) gives the right side.
template <bool kExact, class Weights>
__device__ void complex_product(const float* rows, Weights w, float (&re)[2][4],
                                float (&im)[2][4]) {
  const int g = lane_group(), t = lane_in_group(), n = warp_index() * 8 + g;
#pragma unroll 2
  for (int k = t; k < 64; k += 8) {
    const float r0 = w(0, k, n), r1 = w(0, k + 4, n), i0 = w(1, k, n), i1 = w(1, k + 4, n);
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const float* x = rows + (16 * b + g) * kSpectrumStride + k;
      const float* y = x + 8 * kSpectrumStride;
      const auto real = Left<kExact>::of_kept(x[0], y[0], x[4], y[4]);
      const auto imag = Left<kExact>::of_kept(x[64], y[64], x[68], y[68]);
      multiply(re[b], real, r0, r1);
      multiply(re[b], imag, -i0, -i1);
      multiply(im[b], real, i0, i1);
      multiply(im[b], imag, r0, r1);
    }
  }
}

// The result of complex_product to [32][re 64, im 64] in global memory.
__device__ void store_spectrum(const float (&re)[2][4], const float (&im)[2][4], float* to) {
  const int g = lane_group(), n = warp_index() * 8 + 2 * lane_in_group();
#pragma unroll
  for (int b = 0; b < 2; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float* row = to + (16 * b + g + 8 * h) * 128 + n;
      *reinterpret_cast<float2*>(row) = make_float2(re[b][2 * h], re[b][2 * h + 1]);
      *reinterpret_cast<float2*>(row + 64) = make_float2(im[b][2 * h], im[b][2 * h + 1]);
    }
}

template <bool kExact>
__device__ void load_mode(const float* from, float* to) {
#pragma unroll 8
  for (int i = threadIdx.x; i < 2 * 64 * 16; i += kThreads)
    *reinterpret_cast<float4*>(to + i / 16 * kModeStride + i % 16 * 4) =
        kept<kExact>(*reinterpret_cast<const float4*>(from + i * 4));
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 3)
    mode_product_kernel(Net net, const BundleRows* all, int layer, const float* spectrum,
                        float* product) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  float* weights = shared;
  float* lines = weights + 128 * kModeStride;
  const std::size_t at = blockIdx.y * net.spectrum_size() + std::size_t(blockIdx.x) * kRows * 128;
  load_mode<kExact>(net.weights + rows.member * net.member_size + net.spectral(layer) +
                        std::size_t(blockIdx.x) * kModeSize,
                    weights);
  load_spectrum<kExact>(spectrum + at, lines);
  __syncthreads();
  float re[2][4] = {}, im[2][4] = {};
  complex_product<kExact>(
      lines, [&](int part, int k, int n) { return weights[(part * 64 + k) * kModeStride + n]; }, re,
      im);
  store_spectrum(re, im, product + at);
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 2)
    mode_back_kernel(Net net, const BundleRows* all, int layer, float* spectrum,
                     const float* d_product, float* gradient) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  float* weights = shared;
  float* in = weights + 128 * kModeStride;
  float* d = in + kRows * kSpectrumStride;
  const std::size_t at = blockIdx.y * net.spectrum_size() + std::size_t(blockIdx.x) * kRows * 128;
  const std::size_t mode = net.spectral(layer) + std::size_t(blockIdx.x) * kModeSize;
  const std::size_t own = rows.member * net.member_size + mode;
  load_mode<kExact>(net.weights + own, weights);
  load_spectrum<kExact>(spectrum + at, in);
  load_spectrum<kExact>(d_product + at, d);
  __syncthreads();

  // d_in = d conj(W)^T.
  const int g = lane_group(), t = lane_in_group();
  float re[2][4] = {}, im[2][4] = {};
  complex_product<kExact>(
      d,
      [&](int part, int k, int n) {
        const float w = weights[(part * 64 + n) * kModeStride + k];
        return part == 0 ? w : -w;
      },
      re, im);
  store_spectrum(re, im, spectrum + at);

  // d_W = conj(in)^T d: this warp's 32 x 16 of both parts, as in outer().
  OuterShare d_re = {}, d_im = {};
#pragma unroll
  for (int k = t; k < kRows; k += 8) {
    float2 b[2][2];  // [part][k, k + 4]
    float4 a[2][2];
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int at = (k + 4 * h) * kSpectrumStride + part * 64;
        b[part][h] = *reinterpret_cast<const float2*>(d + at + outer_column() + 2 * g);
        a[part][h] = *reinterpret_cast<const float4*>(in + at + outer_row() + 4 * g);
      }
    const auto columns = [&](OuterShare& share, int i, const Left<kExact>& left, int part) {
      multiply(share.d[i][0], left, b[part][0].x, b[part][1].x);
      multiply(share.d[i][1], left, b[part][0].y, b[part][1].y);
    };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto rows_of = [&](int part, float sign) {
        const float4 x = a[part][0], y = a[part][1];
        return i == 0 ? Left<kExact>::of_kept(sign * x.x, sign * x.y, sign * y.x, sign * y.y)
                      : Left<kExact>::of_kept(sign * x.z, sign * x.w, sign * y.z, sign * y.w);
      };
      const auto real = rows_of(0, 1.0f), imag = rows_of(1, 1.0f), minus = rows_of(1, -1.0f);
      columns(d_re, i, real, 0);
      columns(d_re, i, imag, 1);
      columns(d_im, i, real, 1);
      columns(d_im, i, minus, 0);
    }
  }
  __syncthreads();  // the weights have been read: their place takes the gradient
  store_outer(d_re, kModeStride, weights);
  store_outer(d_im, kModeStride, weights + 64 * kModeStride);
  __syncthreads();
  constexpr int kPieces = 4;
  for (int i = threadIdx.x; i < kModeSize / 4; i += kPieces * kThreads) {
    float4 value[kPieces];
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      const int at4 = i + p * kThreads;
      value[p] = *reinterpret_cast<const float4*>(weights + at4 / 16 * kModeStride + at4 % 16 * 4);
      if (gradient != nullptr)
        *reinterpret_cast<float4*>(gradient + (mode - dense_size(net.layers)) + 4 * at4) = value[p];
    }
    if (gradient == nullptr) adam(net, rows, own + 4 * i, 4 * kThreads, value);
  }
}

constexpr std::size_t kModeBytes = bytes(128 * kModeStride + kRows * kSpectrumStride);
constexpr std::size_t kModeBackBytes = bytes(128 * kModeStride + 2 * kRows * kSpectrumStride);

template <bool kExact>
void prepare() {
  allow(mode_product_kernel<kExact>, kModeBytes);
  allow(mode_back_kernel<kExact>, kModeBackBytes);
}

}  // namespace

void prepare_modes() {
  prepare<true>();
  prepare<false>();
}

void mode_product(const Launch& l, int layer, const float* spectrum, float* product) {
  const dim3 grid(as_grid(l.net.modes), as_grid(l.bundles));
  STAP_LAUNCH(l.exact, mode_product_kernel,
              <<<grid, kThreads, kModeBytes, l.stream>>>(l.net, l.rows, layer, spectrum, product));
}

void mode_back(const Launch& l, int layer, float* spectrum, const float* d_product,
               float* gradient) {
  const dim3 grid(as_grid(l.net.modes), as_grid(l.bundles));
  STAP_LAUNCH(l.exact, mode_back_kernel,
              <<<grid, kThreads, kModeBackBytes, l.stream>>>(l.net, l.rows, layer, spectrum,
                                                             d_product, gradient));
}

}  // namespace stap::cuda
