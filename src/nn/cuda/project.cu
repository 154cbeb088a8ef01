// The projection: field -> states, and back, with the loss.
#include "nn/cuda/kernels.h"

#include <type_traits>

#include "nn/cuda/block.cuh"
#include "nn/cuda/block_cluster.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

// BodyPoint::place of point q of a bundle.
__device__ int place_of(const Net& net, int q) {
  const int point = q % net.points;
  return net.table == nullptr ? point : net.table[point].place;
}

// A chunk's share of the network's output, where lane groups hold GELU(hidden) in tiles: take(row,
// channel, share) for each row of the warp's tile and channel. weights2 is that chunk's
// [out][stride] in shared memory.
template <class Take>
__device__ void chunk_output(const Net& net, const Tile& hidden, const float* weights2, int stride,
                             Take take) {
  for (int c = 0; c < net.out; ++c) {
    float sum[2] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 w = lane_values(weights2 + c * stride, i);
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
      if (lane_in_group() == 0) take(lane_group() + 8 * r, c, sum[r]);
    }
  }
}

// The bias, as the sum's start, for the warp's 16 points.
__device__ void start_output(const Net& net, const float* bias, float* out) {
  for (int i = lane_index(); i < 16 * net.out; i += kWarp)
    out[i % 16 * kThinStride + i / 16] = bias[i / 16];
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
  float* thin = rest + kHidden + net.out * kHidden + warp_index() * 16 * kThinStride;
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
      chunk_output(net, hidden, rest + kHidden + 64 * j, kHidden,
                   [&](int row, int c, float share) { thin[row * kThinStride + c] += share; });
    }
    __syncwarp();
    for (int i = lane_index(); i < 16 * net.out; i += kWarp) {
      const int c = i / 16, q = first + i % 16, row = q / net.points, place = place_of(net, q);
      if (row >= rows.rows || place == -1) continue;
      if (place < 0) {
        rows.out[row][c * net.state_points - 2 - place] = 0.0f;
        continue;
      }
      const int at = c * net.state_points + place;
      const float base = net.delta ? rows.in[row][at] : mean[c];
      rows.out[row][at] = base + deviation[c] * thin[i % 16 * kThinStride + c];
    }
    __syncwarp();
  }
}

// d, slopes of the hidden layer's GELU, becomes the gradient of the hidden layer: of the outputs'
// d_out [16 points of this warp][kStride] through weights2 [out][64].
template <int kStride>
__device__ void back_from_output(const Net& net, const float* d_out, const float* weights2,
                                 Tile& d) {
  const float* mine = d_out + lane_group() * kStride;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float sum[2][4] = {};
    for (int c = 0; c < net.out; ++c) {
      const float4 w = lane_values(weights2 + 64 * c, i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float x = mine[8 * r * kStride + c];
        sum[r][0] = fmaf(x, w.x, sum[r][0]);
        sum[r][1] = fmaf(x, w.y, sum[r][1]);
        sum[r][2] = fmaf(x, w.z, sum[r][2]);
        sum[r][3] = fmaf(x, w.w, sum[r][3]);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int c = 0; c < 4; ++c) d.v[r][4 * i + c] *= sum[r][c];
  }
}

// What project_back_kernel holds in shared memory, in floats from its beginning.
template <int kSlots>
struct BackLayout {
  // Gradients of the outputs, [kTilePoints][kStride], of up to kSlots channels.
  static constexpr int kStride = kSlots == 16 ? kThinStride : kSlots;
  static constexpr int kDown = kBlockFloats, kZ = 2 * kBlockFloats, kH = kZ + kTileFloats,
                       kDOut = kH + kTileFloats, kBias1 = kDOut + kTilePoints * kStride,
                       kWeights2 = kBias1 + 64;
  __host__ __device__ static constexpr int shares(int out) { return kWeights2 + 64 * out; }
  __host__ __device__ static constexpr int size(int out) { return shares(out) + kTilePoints * out; }
};

// Each of the four chunks of the hidden layer is made by a block of its own, so that a block has
// few enough sums to hold that two fit on a multiprocessor and one computes while the other waits.
// The four blocks of a part are a cluster: they add up their shares of the output, then those of
// the field's gradient, from each other's shared memory, in the order of the chunks.
//
// kSlots: 1, of a network with one channel, whose last weights' gradient is summed in registers;
// with up to 8 and up to 16, by products over points.
template <bool kExact, int kSlots>
__global__ void __cluster_dims__(kChunks, 1, 1) __launch_bounds__(kThreads, 2)
    project_back_kernel(Net net, const BundleRows* all, const float* field, float* d_field,
                        float* partial, double* losses) {
  extern __shared__ __align__(16) float shared[];
  using Layout = BackLayout<kSlots>;
  constexpr bool kSingle = kSlots == 1;
  constexpr int kStride = Layout::kStride;
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  const int chunk = blockIdx.x % kChunks, part = blockIdx.x / kChunks, parts = gridDim.x / kChunks;
  float* up = shared;
  float* down = shared + Layout::kDown;
  float* z_tile = shared + Layout::kZ;
  float* h_tile = shared + Layout::kH;
  float* d_out = shared + Layout::kDOut;
  float* bias1 = shared + Layout::kBias1;
  float* weights2 = shared + Layout::kWeights2;      // [out][64]
  float* shares = shared + Layout::shares(net.out);  // [out][kTilePoints]: of this chunk
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kProject1Blocks + chunk), 1, up);
  copy_blocks(fragments_of(net, rows, kProject1Back + chunk), 1, down);
  copy_floats(dense + kProject1Bias + 64 * chunk, 64, bias1);
  for (int i = threadIdx.x; i < 64 * net.out; i += kThreads)
    weights2[i] = dense[kProject2 + i / 64 * kHidden + 64 * chunk + i % 64];
  if constexpr (kSlots > 1)  // channels that there are not
    for (int i = threadIdx.x; i < kTilePoints * kStride; i += kThreads) d_out[i] = 0.0f;
  __syncthreads();

  const std::size_t bundle = blockIdx.y * net.field_size();
  const float* mean = net.mean + rows.member * kChannels;
  const float* deviation = net.deviation + rows.member * kChannels;
  const float* factors = net.loss_factors + rows.member * kChannels;
  const int points = rows.rows * net.points;  // those of rows that there are
  const float weight = 2.0f / float(rows.rows * net.counted * net.out);
  float* my_d_out = d_out + warp_index() * 16 * kStride;
  OuterShare d_weights1 = {};
  float d_weights2[kSingle ? 2 : 4] = {}, d_bias1[2] = {};
  float d_bias2 = 0.0f;  // of channel lane_index(), over this warp's points
  double squares = 0.0;
  const int tiles = net.tiles();
  for (int tile = part; tile < tiles; tile += parts) {
    const std::size_t first = std::size_t(tile) * kTilePoints;
    Tile hidden, d_hidden;
    {
      Tile z;
      load_tile(field + bundle + (first + warp_index() * 16) * 64, 64, z);
      keep<kExact>(z);
      share_kept(z, z_tile);
      fill_tile(bias1, hidden);
      multiply<kExact, true>(z, up, hidden);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i)
#pragma unroll
      for (int r = 0; r < 2; ++r) d_hidden.v[r][i] = activate<kExact>(hidden.v[r][i]);
    chunk_output(net, hidden, weights2, 64, [&](int row, int c, float share) {
      shares[c * kTilePoints + warp_index() * 16 + row] = share;
    });
    // What is known of the errors: what is added to the network's output, less the target.
    for (int i = threadIdx.x; i < net.out * kTilePoints; i += kThreads) {
      const int c = i / kTilePoints, p = i % kTilePoints, q = int(first) + p;
      const int place = place_of(net, q);
      if (q >= points || place < 0) continue;
      const int row = q / net.points, at = c * net.state_points + place;
      d_out[p * kStride + c] = (net.delta ? rows.in[row][at] : mean[c]) - rows.target[row][at];
    }
    wait_for_cluster();  // all shares are there; all have read the gradients of the round before
    for (int i = threadIdx.x; i < net.out * kTilePoints; i += kThreads) {
      const int c = i / kTilePoints, p = i % kTilePoints;
      float& place = d_out[p * kStride + c];
      float error = 0.0f;
      if (int(first) + p < points && place_of(net, int(first) + p) >= 0) {
        float sum = dense[kProject2Bias + c];
#pragma unroll
        for (int j = 0; j < kChunks; ++j) sum += read_in_block(shares + i, j);
        error = fmaf(deviation[c], sum, place) * factors[c];
      }
      squares += double(error) * double(error);
      place = kept<kExact>(weight * (deviation[c] * factors[c]) * error);
    }
    __syncthreads();
    if (lane_index() < net.out)
      for (int p = 0; p < 16; ++p) d_bias2 += my_d_out[p * kStride + lane_index()];
    back_from_output<kStride>(net, my_d_out, weights2, d_hidden);
    if constexpr (kSingle) {
      const float2 sums = weighted_sums(hidden, my_d_out[lane_group()], my_d_out[lane_group() + 8]);
      d_weights2[0] += sums.x;
      d_weights2[1] += sums.y;
    } else {
      share_tile<kExact>(hidden, h_tile);
      __syncthreads();
      thin_outer<kExact, true, kStride>(d_out, h_tile, d_weights2);
      __syncthreads();
    }
    keep<kExact>(d_hidden);
    share_kept(d_hidden, h_tile);
    Tile d_z;
    zero(d_z);
    multiply<kExact, true>(d_hidden, down, d_z);
    __syncthreads();
    outer<kExact, true>(z_tile, h_tile, d_weights1, d_bias1);
    __syncthreads();
    share_kept(d_z, h_tile);
    wait_for_cluster();
    constexpr int kQuarter = kTilePoints / kChunks;
    for (int i = threadIdx.x; i < kQuarter * 16; i += kThreads) {
      const int point = chunk * kQuarter + i / 16, at = point * kTileStride + i % 16 * 4;
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int j = 0; j < kChunks; ++j) {
        const float4 d = read_four_in_block(h_tile + at, j);
        sum = make_float4(sum.x + d.x, sum.y + d.y, sum.z + d.z, sum.w + d.w);
      }
      *reinterpret_cast<float4*>(d_field + bundle + (first + point) * 64 + i % 16 * 4) = sum;
    }
  }
  wait_for_cluster();  // nobody reads here any more

  losses += blockIdx.y * parts + part;
  partial += (blockIdx.y * parts + part) * std::size_t(kLayers);
  store_outer(d_weights1, kHidden, partial + kProject1 + 64 * chunk);
  store_sums(d_bias1, partial + kProject1Bias + 64 * chunk);
  float* d_project2 = partial + kProject2 + 64 * chunk;
  if constexpr (kSingle) {
    add_up_warps(make_float2(d_weights2[0], d_weights2[1]), h_tile, d_project2);
  } else {
#pragma unroll
    for (int c = 0; c < 15; ++c)
      if (c < net.out) store_thin_row(d_weights2, c, d_project2 + c * kHidden);
  }
  if (chunk > 0) return;
  // What all chunks know: the loss and the last bias, summed over warps in a fixed order.
  double* sums = reinterpret_cast<double*>(z_tile);
  float* bias2_sums = d_out;
  sums[threadIdx.x] = squares;
  if (lane_index() < net.out) bias2_sums[warp_index() * net.out + lane_index()] = d_bias2;
  __syncthreads();
  for (int n = kThreads / 2; n > 0; n /= 2) {
    if (threadIdx.x < n) sums[threadIdx.x] += sums[threadIdx.x + n];
    __syncthreads();
  }
  if (threadIdx.x == 0) *losses = sums[0];
  if (threadIdx.x < net.out) {
    float sum = 0.0f;
    for (int w = 0; w < kWarps; ++w) sum += bias2_sums[w * net.out + threadIdx.x];
    partial[kProject2Bias + threadIdx.x] = sum;
  }
}

constexpr std::size_t project_bytes(int out) {
  return bytes(kChunks * kBlockFloats + kHidden + out * kHidden + kThinFloats);
}
template <int kSlots>
constexpr std::size_t project_back_bytes(int out) {
  return bytes(BackLayout<kSlots>::size(out));
}
static_assert(project_back_bytes<16>(kChannels) <= kSharedNeeded);
// Two blocks fit on a multiprocessor with up to four channels.
static_assert(project_back_bytes<1>(1) <= kSharedOfTwo && project_back_bytes<8>(4) <= kSharedOfTwo);

template <bool kExact>
void prepare() {
  allow(project_kernel<kExact>, project_bytes(kChannels));
  allow(project_back_kernel<kExact, 1>, project_back_bytes<1>(1));
  allow(project_back_kernel<kExact, 8>, project_back_bytes<8>(8));
  allow(project_back_kernel<kExact, 16>, project_back_bytes<16>(kChannels));
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
  const auto run = [&](auto kernel, std::size_t size) {
    kernel<<<chunks_grid(l), kThreads, size, l.stream>>>(l.net, l.rows, field, d_field, partial,
                                                         losses);
    launched("project_back");
  };
  const auto choose = [&](auto exact) {
    constexpr bool kExact = decltype(exact)::value;
    if (l.net.out == 1)
      run(project_back_kernel<kExact, 1>, project_back_bytes<1>(1));
    else if (l.net.out <= 8)
      run(project_back_kernel<kExact, 8>, project_back_bytes<8>(l.net.out));
    else
      run(project_back_kernel<kExact, 16>, project_back_bytes<16>(l.net.out));
  };
  l.exact ? choose(std::true_type{}) : choose(std::false_type{});
}

}  // namespace stap::cuda
