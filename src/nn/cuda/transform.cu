// Passes of a Fourier transform: a matrix along one axis, for every panel of a bundle.
#include "nn/cuda/kernels.h"

#include <algorithm>

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"
#include "nn/cuda/panel.cuh"

namespace stap::cuda {
namespace {

constexpr int kShortLines = 64;  // panels up to this length: warps work by themselves
constexpr int kLongLines = 256;  // lines of a long panel held at a time

// A warp makes half the channels of a panel: with less to hold, more warps are there to wait.
constexpr int kShortColumns = 32;
constexpr int kShortWarps = 4;

// Panels of rows that are made: those of a row stand together.
__device__ int made_panels(const Pass& pass, const BundleRows& rows) {
  return pass.panels / kRows * rows.made;
}

template <bool kExact>
__global__ void __launch_bounds__(kShortWarps* kWarp, 4)
    short_pass_kernel(const BundleRows* all, Pass pass, const float* in, bool gelu_first,
                      float* out) {
  extern __shared__ __align__(16) float shared[];
  constexpr int kParts = 64 / kShortColumns;
  const int unit = blockIdx.x * kShortWarps + warp_index(), p = unit / kParts;
  if (p >= made_panels(pass, bundle_rows(all))) return;
  const int channel = unit % kParts * kShortColumns;
  const int held = (pass.lines_in + 7) / 8 * 8, blocks = (pass.lines_out + 15) / 16;
  float* lines = shared + warp_index() * held * kLineStride<kShortColumns>;
  in += blockIdx.y * pass.in.size + panel_begin(p, pass.inner, pass.in) + channel;
  out += blockIdx.y * pass.out.size + panel_begin(p, pass.inner, pass.out) + channel;
  load_panel<kExact, kShortColumns>(pass, in, 0, held, gelu_first, lane_index(), kWarp, lines);
  __syncwarp();
  for (int block = 0; block < blocks; ++block)
    transform_block<kExact, kShortColumns>(pass, block, lines, out);
}

// One panel a block. Warps stand in kColumns columns of 64 / kColumns channels; each makes up to
// kBlocks blocks of 16 lines at a time.
template <bool kExact, int kColumns, int kBlocks>
__global__ void __launch_bounds__(kThreads, 2)
    long_pass_kernel(const BundleRows* all, Pass pass, const float* in, bool gelu_first,
                     float* out) {
  extern __shared__ __align__(16) float shared[];
  if (int(blockIdx.x) >= made_panels(pass, bundle_rows(all))) return;
  constexpr int kRowWarps = kWarps / kColumns, kTiles = 8 / kColumns, kHeldSteps = kLongLines / 8;
  const int steps = (pass.lines_in + 7) / 8, blocks = (pass.lines_out + 15) / 16;
  const int lane = lane_index();
  const int row_warp = warp_index() / kColumns, column = warp_index() % kColumns * (64 / kColumns);
  const int p = blockIdx.x;
  in += blockIdx.y * pass.in.size + panel_begin(p, pass.inner, pass.in);
  out += blockIdx.y * pass.out.size + panel_begin(p, pass.inner, pass.out);
  const bool once = steps <= kHeldSteps;
  if (once)
    load_panel<kExact, 64>(pass, in, 0, steps * 8, gelu_first, threadIdx.x, kThreads, shared);
  __syncthreads();
  for (int first = 0; first < blocks; first += kRowWarps * kBlocks) {
    float sum[kBlocks][kTiles][4] = {};
    const float4* matrix[kBlocks];  // of blocks beyond the last one: the last one's, dropped below
#pragma unroll
    for (int i = 0; i < kBlocks; ++i)
      matrix[i] =
          pass.matrix + min(first + row_warp + kRowWarps * i, blocks - 1) * steps * kWarp + lane;
    const int mine = (blocks - first - row_warp + kRowWarps - 1) / kRowWarps;
    if (once && mine <= 0) break;
    for (int begin = 0; begin < steps; begin += kHeldSteps) {
      const int end = min(steps, begin + kHeldSteps);
      if (!once) {
        __syncthreads();
        load_panel<kExact, 64>(pass, in, begin * 8, (end - begin) * 8, gelu_first, threadIdx.x,
                               kThreads, shared);
        __syncthreads();
      }
      MatrixAhead<kBlocks, 2> ahead(matrix, begin, end - 1);
#pragma unroll 2
      for (int s = begin; s < end; ++s) {
        float4 m[kBlocks];
        ahead.next(s, m);
        const float* line = shared + (8 * (s - begin) + lane_in_group()) * kTileStride + column;
        float b[2][kTiles];
        load_columns(line, b[0]);
        load_columns(line + 4 * kTileStride, b[1]);
#pragma unroll
        for (int i = 0; i < kBlocks; ++i) {
          if (i >= mine) continue;
          const auto a = Left<kExact>::of_kept(m[i].x, m[i].y, m[i].z, m[i].w);
#pragma unroll
          for (int j = 0; j < kTiles; ++j) multiply(sum[i][j], a, b[0][j], b[1][j]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      if (i >= mine) continue;
      store_columns(pass, sum[i], 16 * (first + row_warp + kRowWarps * i), out + column);
    }
  }
}

std::size_t short_bytes(int lines) {
  return bytes(std::size_t(kShortWarps) * lines * kLineStride<kShortColumns>);
}
std::size_t long_bytes(int lines) {
  return bytes(std::size_t(lines) * kTileStride);
}

template <bool kExact>
void prepare() {
  allow(short_pass_kernel<kExact>, short_bytes(kShortLines));
  allow(long_pass_kernel<kExact, 8, 3>, long_bytes(kLongLines));
  allow(long_pass_kernel<kExact, 1, 2>, long_bytes(kLongLines));
}

}  // namespace

void prepare_transform() {
  prepare<true>();
  prepare<false>();
}

void transform(const Launch& l, const Pass& pass, const float* in, bool gelu_first, float* out) {
  const int lines = (pass.lines_in + 7) / 8 * 8;
  if (lines <= kShortLines && pass.lines_out <= kShortLines) {
    const int units = pass.panels * (64 / kShortColumns);
    const dim3 grid(as_grid((units + kShortWarps - 1) / kShortWarps), as_grid(l.bundles));
    STAP_LAUNCH(l.exact, short_pass_kernel,
                <<<grid, kShortWarps * kWarp, short_bytes(lines), l.stream>>>(l.rows, pass, in,
                                                                              gelu_first, out));
    return;
  }
  const dim3 grid(as_grid(pass.panels), as_grid(l.bundles));
  const std::size_t size = long_bytes(std::min(lines, kLongLines));
  const auto run = [&](auto kernel) {
    kernel<<<grid, kThreads, size, l.stream>>>(l.rows, pass, in, gelu_first, out);
    launched("transform");
  };
  const bool few = pass.lines_out <= 3 * 16;
  if (l.exact) {
    few ? run(long_pass_kernel<true, 8, 3>) : run(long_pass_kernel<true, 1, 2>);
  } else {
    few ? run(long_pass_kernel<false, 8, 3>) : run(long_pass_kernel<false, 1, 2>);
  }
}

}  // namespace stap::cuda
