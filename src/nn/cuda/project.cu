// The projection: field -> states, and back, with the loss.
#include "nn/cuda/kernels.h"

#include <type_traits>

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

// Adds chunk j's share of the network's output to out[16 points of this warp][channel], where lane
// groups hold GELU(hidden) in tiles. weights2 is [out][256] in shared memory.
__device__ void add_output(const Net& net, const Tile& hidden, const float* weights2, int j,
                           float* out) {
  float* mine = out + (warp_index() * 16 + lane_group()) * kThinStride;
  for (int c = 0; c < net.out; ++c) {
    float sum[2] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 w = lane_values(weights2 + c * kHidden + 64 * j, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float* h = hidden.v[r] + 4 * i;
        sum[r] = fmaf(h[0], w.x, fmaf(h[1], w.y, fmaf(h[2], w.z, fmaf(h[3], w.w, sum[r]))));
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
      if (lane_in_group() == 0) mine[8 * r * kThinStride + c] += sum[r];
    }
  }
}

// The bias, as the sum's start; 1 in channel 15.
__device__ void start_output(const Net& net, const float* bias, float* out) {
  const int lane = lane_index();
  if (lane < 16) {
    float* to = out + (warp_index() * 16 + lane) * kThinStride;
#pragma unroll
    for (int c = 0; c < 15; ++c) to[c] = c < net.out ? bias[c] : 0.0f;
    to[15] = 1.0f;
  }
  __syncwarp();
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 2)
    project_kernel(Net net, const BundleRows* all, const float* field, float* hidden_out) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (!is_made(net, rows, blockIdx.x)) return;
  float* weights1 = shared;
  float* rest = weights1 + kChunks * kBlockFloats;  // bias of 1, then weights of 2: [out][256]
  float* thin = rest + kHidden + net.out * kHidden;
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kProject1Blocks), kChunks, weights1);
  copy_floats(dense + kProject1Bias, kHidden + net.out * kHidden, rest);
  __syncthreads();
  const std::size_t bundle = blockIdx.y * net.field_size();
  const float* mean = net.mean + rows.member * kChannels;
  const float* deviation = net.deviation + rows.member * kChannels;
  const int tiles = net.tiles();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    if (first / net.points >= rows.rows) break;
    Tile z;
    load_tile(field + bundle + std::size_t(first) * 64, 64, z);
    keep<kExact>(z);
    start_output(net, dense + kProject2Bias, thin);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden;
      fill_tile(rest + 64 * j, hidden);
      multiply<kExact, true>(z, weights1 + j * kBlockFloats, hidden);
      if (hidden_out != nullptr && 64 * j < net.projection)
        store_tile(hidden, net.projection,
                   hidden_out +
                       (std::size_t(blockIdx.y) * net.field_points() + first) * net.projection +
                       64 * j);
      transform_tile(hidden, gelu<kExact>);
      add_output(net, hidden, rest + kHidden, j, thin);
    }
    __syncwarp();
    for (int i = lane_index(); i < 16 * net.out; i += kWarp) {
      const int c = i / 16, q = first + i % 16, row = q / net.points, point = q % net.points;
      if (row >= rows.rows) continue;
      const int at = c * net.points + point;
      const float base = net.delta ? rows.in[row][at] : mean[c];
      rows.out[row][at] =
          base + deviation[c] * thin[(warp_index() * 16 + i % 16) * kThinStride + c];
    }
    __syncwarp();
  }
}

// kSingle: of a network with one channel. The gradient of its last weights is then summed in
// registers; with more, by products over points.
template <bool kExact, bool kResident, bool kSingle>
__global__ void __launch_bounds__(kThreads, 1)
    project_back_kernel(Net net, const BundleRows* all, const float* field, float* d_field,
                        float* partial, double* losses) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  // Weights of all chunks, both ways round, where they fit; else of one chunk at a time.
  constexpr int kHeld = kResident ? kChunks : 1;
  float* up = shared;
  float* down = up + kHeld * kBlockFloats;
  float* z_tile = down + kHeld * kBlockFloats;
  float* h_tile = z_tile + kTileFloats;
  float* thin = h_tile + kTileFloats;
  float* rest = thin + kThinFloats;  // bias of 1, then weights of 2: [out][256]
  float* bias2_sums = rest + kHidden + net.out * kHidden;
  const float* dense = net.weights + rows.member * net.member_size;
  const auto load_chunk = [&](int j, int to) {
    copy_blocks(fragments_of(net, rows, kProject1Blocks + j), 1, up + to * kBlockFloats);
    copy_blocks(fragments_of(net, rows, kProject1Back + j), 1, down + to * kBlockFloats);
  };
  if constexpr (kResident)
    for (int j = 0; j < kChunks; ++j) load_chunk(j, j);
  const auto chunk = [&](int j) {  // weights of chunk j are there when it returns
    if constexpr (kResident) return j;
    __syncthreads();
    load_chunk(j, 0);
    __syncthreads();
    return 0;
  };
  copy_floats(dense + kProject1Bias, kHidden + net.out * kHidden, rest);
  if (threadIdx.x < kWarps * kChannels) bias2_sums[threadIdx.x] = 0.0f;
  __syncthreads();

  const std::size_t bundle = blockIdx.y * net.field_size();
  const float* mean = net.mean + rows.member * kChannels;
  const float* deviation = net.deviation + rows.member * kChannels;
  const float weight = 2.0f / float(rows.rows * net.out * net.points);
  OuterShare d_weights1[kChunks] = {};
  float d_weights2[kChunks][kSingle ? 2 : 4] = {}, d_bias1[kChunks][2] = {};
  double squares = 0.0;
  const int tiles = net.tiles();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    Tile z, d_z;
    load_tile(field + bundle + std::size_t(first) * 64, 64, z);
    keep<kExact>(z);
    __syncthreads();  // the tiles of the round before have been read
    start_output(net, dense + kProject2Bias, thin);
    share_kept(z, z_tile);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden;
      fill_tile(rest + 64 * j, hidden);
      const int held = chunk(j);
      multiply<kExact, true>(z, up + held * kBlockFloats, hidden);
      transform_tile(hidden, gelu<kExact>);
      add_output(net, hidden, rest + kHidden, j, thin);
    }
    __syncwarp();
    // Output -> error and its gradient, in place.
    for (int i = lane_index(); i < 16 * net.out; i += kWarp) {
      const int c = i / 16, q = first + i % 16, row = q / net.points, point = q % net.points;
      float* out = thin + (warp_index() * 16 + i % 16) * kThinStride + c;
      float error = 0.0f;
      if (row < rows.rows) {
        const int at = c * net.points + point;
        const float base = net.delta ? rows.in[row][at] : mean[c];
        error = base + deviation[c] * *out - rows.target[row][at];
      }
      squares += double(error) * double(error);
      *out = kept<kExact>(weight * deviation[c] * error);
    }
    __syncwarp();
    if (lane_index() < net.out) {
      float sum = 0.0f;
      for (int p = 0; p < 16; ++p)
        sum += thin[(warp_index() * 16 + p) * kThinStride + lane_index()];
      bias2_sums[warp_index() * kChannels + lane_index()] += sum;
    }

    zero(d_z);
    const float* mine = thin + (warp_index() * 16 + lane_group()) * kThinStride;
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden, d_hidden;
      fill_tile(rest + 64 * j, hidden);
      const int held = chunk(j);
      multiply<kExact, true>(z, up + held * kBlockFloats, hidden);
      zero(d_hidden);
      for (int c = 0; c < net.out; ++c)
        add_scaled(mine[c], mine[8 * kThinStride + c], rest + kHidden + c * kHidden + 64 * j,
                   d_hidden);
      back_through_gelu<kExact>(hidden, d_hidden);
      keep<kExact>(d_hidden);
      multiply<kExact, true>(d_hidden, down + held * kBlockFloats, d_z);
      float2 sums;
      if constexpr (kSingle) sums = weighted_sums(hidden, mine[0], mine[8 * kThinStride]);
      if (j > 0) __syncthreads();
      if constexpr (!kSingle) {
        share_tile<kExact>(hidden, h_tile);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kChunks; ++k)
          if (k == j) thin_outer<kExact>(thin, h_tile, d_weights2[k]);
        __syncthreads();
      }
      share_kept(d_hidden, h_tile);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kChunks; ++k)
        if (k == j) {
          if constexpr (kSingle) {
            d_weights2[k][0] += sums.x;
            d_weights2[k][1] += sums.y;
          }
          outer<kExact, true>(z_tile, h_tile, d_weights1[k], d_bias1[k]);
        }
    }
    store_tile(d_z, 64, d_field + bundle + std::size_t(first) * 64);
  }

  const int part = blockIdx.y * gridDim.x + blockIdx.x;
  partial += part * std::size_t(kLayers);
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    store_outer(d_weights1[j], kHidden, partial + kProject1 + 64 * j);
    store_sums(d_bias1[j], partial + kProject1Bias + 64 * j);
    if constexpr (!kSingle) {
#pragma unroll
      for (int c = 0; c < 15; ++c)
        if (c < net.out)
          store_thin_row(d_weights2[j], c, partial + kProject2 + c * kHidden + 64 * j);
    }
  }
  // Losses, the last bias, and with one channel its weights: summed over warps in a fixed order.
  __syncthreads();
  if constexpr (kSingle) {
#pragma unroll
    for (int j = 0; j < kChunks; ++j)
      *reinterpret_cast<float2*>(h_tile + warp_index() * kHidden + 64 * j + channel_of_sums()) =
          make_float2(d_weights2[j][0], d_weights2[j][1]);
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < kWarps; ++w) sum += h_tile[w * kHidden + threadIdx.x];
    partial[kProject2 + threadIdx.x] = sum;
  }
  double* sums = reinterpret_cast<double*>(z_tile);
  sums[threadIdx.x] = squares;
  __syncthreads();
  for (int n = kThreads / 2; n > 0; n /= 2) {
    if (threadIdx.x < n) sums[threadIdx.x] += sums[threadIdx.x + n];
    __syncthreads();
  }
  if (threadIdx.x == 0) losses[part] = sums[0];
  if (threadIdx.x < net.out) {
    float sum = 0.0f;
    for (int w = 0; w < kWarps; ++w) sum += bias2_sums[w * kChannels + threadIdx.x];
    partial[kProject2Bias + threadIdx.x] = sum;
  }
}

constexpr std::size_t project_bytes(int out) {
  return bytes(kChunks * kBlockFloats + kHidden + out * kHidden + kThinFloats);
}
constexpr std::size_t project_back_bytes(bool resident, int out) {
  return bytes(2 * (resident ? kChunks : 1) * kBlockFloats + 2 * kTileFloats + kThinFloats +
               kHidden + out * kHidden + kWarps * kChannels);
}

static_assert(project_back_bytes(true, 1) <= kSharedNeeded);

bool resident_fits(int out) {
  static const std::size_t limit = shared_limit();
  return project_back_bytes(true, out) <= limit;
}

template <bool kExact>
void prepare() {
  allow(project_kernel<kExact>, project_bytes(kChannels));
  allow(project_back_kernel<kExact, true, true>, shared_limit());
  allow(project_back_kernel<kExact, true, false>, shared_limit());
  allow(project_back_kernel<kExact, false, false>, project_back_bytes(false, kChannels));
}

}  // namespace

void prepare_project() {
  prepare<true>();
  prepare<false>();
}

void project(const Launch& l, const float* field, float* hidden) {
  STAP_LAUNCH(l.exact, project_kernel,
              <<<tiles_grid(l), kThreads, project_bytes(l.net.out), l.stream>>>(l.net, l.rows,
                                                                                field, hidden));
}

void project_back(const Launch& l, const float* field, float* d_field, float* partial,
                  double* losses) {
  const bool resident = resident_fits(l.net.out);
  const std::size_t size = project_back_bytes(resident, l.net.out);
  const auto run = [&](auto kernel) {
    kernel<<<parts_grid(l), kThreads, size, l.stream>>>(l.net, l.rows, field, d_field, partial,
                                                        losses);
    launched("project_back");
  };
  const auto choose = [&](auto exact) {
    constexpr bool kExact = decltype(exact)::value;
    if (l.net.out == 1)
      run(project_back_kernel<kExact, true, true>);
    else if (resident)
      run(project_back_kernel<kExact, true, false>);
    else
      run(project_back_kernel<kExact, false, false>);
  };
  l.exact ? choose(std::true_type{}) : choose(std::false_type{});
}

}  // namespace stap::cuda
