#include "nn/cuda/kernels.h"

#include <algorithm>

#include "nn/cuda/check.h"
#include "nn/cuda/mma.cuh"

namespace stap::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kChunks = kHidden / 64;
constexpr int kBlockFloats = 4 * kBlockVectors;  // of one 64 x 64 block of weights

__device__ const SlotRows& slot_rows(const SlotRows* rows) {
  return rows[blockIdx.y];
}
__device__ int warp_index() {
  return threadIdx.x / kWarp;
}
__device__ int lane_index() {
  return threadIdx.x % kWarp;
}

__device__ void zero(Tile& tile) {
#pragma unroll
  for (int i = 0; i < 16; ++i) tile.v[0][i] = tile.v[1][i] = 0.0f;
}
template <class Function>
__device__ void transform_tile(Tile& tile, Function f) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    tile.v[0][i] = f(tile.v[0][i]);
    tile.v[1][i] = f(tile.v[1][i]);
  }
}

// A warp's tile into the block's shared one ([128][kTileStride]), as a right side.
template <bool kExact>
__device__ void share_tile(const Tile& tile, float* shared) {
  Tile rounded = tile;
  transform_tile(rounded, [](float x) { return right_side<kExact>(x); });
  store_tile(rounded, kTileStride, 16, shared + warp_index() * 16 * kTileStride);
}

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

__device__ void copy_floats(const float* from, int n, float* to) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

// --- weights in fragment order -------------------------------------------------------------------
// Every block of a kernel reads 64 x 64 weights as the products want them; they are put in that
// order once after every step.

__device__ const float* fragments_of(const Net& net, const SlotRows& rows, int block) {
  return net.fragments + rows.member * fragments_size(net.layers) +
         std::size_t(block) * kBlockFloats;
}

__device__ void copy_blocks(const float* from, int blocks, float* to) {
  const float4* source = reinterpret_cast<const float4*>(from);
  float4* target = reinterpret_cast<float4*>(to);
#pragma unroll 8
  for (int i = threadIdx.x; i < blocks * kBlockVectors; i += kThreads) target[i] = source[i];
}

template <bool kExact>
__global__ void order_weights_kernel(Net net, const SlotRows* all) {
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  const int block = blockIdx.x, j = block % 4;
  const float* dense = net.weights + rows.member * net.member_size;
  float* to =
      net.fragments + rows.member * fragments_size(net.layers) + std::size_t(block) * kBlockFloats;
  if (block < kProject1Blocks) {
    order_weights<kExact>(dense + kLift2 + j * 64 * 64, 64, block >= kLift2Back, to);
  } else if (block < kSkipBlocks) {
    order_weights<kExact>(dense + kProject1 + 64 * j, kHidden, block >= kProject1Back, to);
  } else {
    const int layer = (block - kSkipBlocks) / 2;
    order_weights<kExact>(dense + kLayers + layer * kLayerSize, 64, block % 2 == 1, to);
  }
}

// --- rows of a step ------------------------------------------------------------------------------

__global__ void gather_rows_kernel(const Course* courses, const int* step, SlotRows* rows,
                                   int values) {
  const Course& course = courses[blockIdx.x];
  SlotRows& to = rows[blockIdx.x];
  const std::uint32_t first = std::uint32_t(*step) * course.batch;
  const int n = first >= course.count ? 0 : int(min(course.batch, course.count - first));
  const int r = threadIdx.x;
  if (r < n) {
    const std::size_t row = course.order[first + r];
    to.in[r] = course.inputs + row * values;
    to.target[r] = course.targets + row * values;
    to.time[r] = course.times != nullptr ? course.times[row] : 0.0f;
  }
  if (r == 0) {
    to.rows = n;
    to.member = course.member;
    if (n > 0) {
      const float2 rate = course.rates[*step];
      to.rate = rate.x;
      to.root_scale = rate.y;
      to.beta1 = course.beta1;
      to.beta2 = course.beta2;
      to.epsilon = course.epsilon;
    }
  }
}

__global__ void next_step_kernel(int* step) {
  ++*step;
}

// --- lifting -------------------------------------------------------------------------------------

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
  const int tiles = net.field_points() / kTilePoints;
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
    store_tile(sum, 64, 16, field + std::size_t(first) * 64);
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
  const int tiles = net.field_points() / kTilePoints;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    Tile d;
    load_tile(d_field + std::size_t(first) * 64, 64, 16, d);
    __syncthreads();  // the tiles of the round before have been read
    load_input(net, rows, first, thin);
    share_tile<kExact>(d, d_tile);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden, d_hidden;
      lift_hidden(net, thin, weights1, j, hidden);
      zero(d_hidden);
      multiply<kExact>(d, weights2 + j * kBlockFloats, d_hidden);
#pragma unroll
      for (int i = 0; i < 16; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          d_hidden.v[r][i] *= activate<kExact>(hidden.v[r][i]);
        }
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

// --- panels
// ----------------------------------------------------------------------------------------

__device__ std::size_t panel_begin(int panel, int inner, const Side& side) {
  return std::size_t(panel / inner) * side.outer + panel % inner * side.inner;
}

// Lines first .. first+lines-1 of a panel into shared memory, [line][kTileStride], by `threads`
// threads of which this is number `thread`; lines beyond the panel's are zero.
template <bool kExact>
__device__ void load_panel(const Pass& pass, const float* panel, int first, int lines,
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
__device__ void load_tile_panel(const Pass& pass, const float* panel, int lines, float* to) {
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
__device__ void multiply_panel(const float4* matrix, int steps, const float* panel, Tile& sum) {
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

// Panels whose transforms a tile of 128 points takes parts of.
__host__ __device__ int panels_of_tile(const Pass& pass) {
  return pass.lines_out < kTilePoints ? kTilePoints / pass.lines_out : 1;
}

// Adds the transform of the warp's points: by all threads, `shared` holds the panels of the tile.
template <bool kExact>
__device__ void add_transformed(const Pass& pass, const float* in, int tile, float* shared,
                                Tile& sum) {
  const int steps = (pass.lines_in + 7) / 8, panels = panels_of_tile(pass);
  const int panel_floats = steps * 8 * kTileStride, first = tile * kTilePoints / pass.lines_out;
  for (int p = 0; p < panels; ++p)
    load_tile_panel<kExact>(pass, in + panel_begin(first + p, pass.inner, pass.in), steps * 8,
                            shared + p * panel_floats);
  __syncthreads();
  const int point = tile * kTilePoints + warp_index() * 16;
  multiply_panel<kExact>(pass.matrix + point % pass.lines_out / 16 * steps * kWarp, steps,
                         shared + (point / pass.lines_out - first) * panel_floats, sum);
}

// --- Fourier layers ------------------------------------------------------------------------------

// What is added to a layer's dense part: a field, or (kFused) what a pass makes of `values`.
struct Addend {
  const float* values;
  Pass pass;
};

template <bool kExact, bool kFused>
__global__ void __launch_bounds__(kThreads, 2)
    layer_kernel(Net net, const SlotRows* all, int layer, const float* field, bool gelu_first,
                 Addend add, float* next) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  const float* weights = net.weights + rows.member * net.member_size + kLayers + layer * kLayerSize;
  copy_blocks(fragments_of(net, rows, kSkipBlocks + 2 * layer), 1, shared);
  const std::size_t slot = blockIdx.y * net.field_size();
  const int tiles = net.field_points() / kTilePoints;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::size_t at = slot + std::size_t(tile * kTilePoints + warp_index() * 16) * 64;
    Tile x, sum;
    load_tile(field + at, 64, 16, x);
    fill_tile(weights + 64 * 64, sum);
    __syncthreads();  // the weights are there, the panels of the round before have been read
    if constexpr (kFused) {
      add_transformed<kExact>(add.pass, add.values + blockIdx.y * add.pass.in.size, tile,
                              shared + kBlockFloats, sum);
    } else {
      Tile more;
      load_tile(add.values + at, 64, 16, more);
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        sum.v[0][i] += more.v[0][i];
        sum.v[1][i] += more.v[1][i];
      }
    }
    if (gelu_first) transform_tile(x, gelu<kExact>);
    multiply<kExact>(x, shared, sum);
    store_tile(sum, 64, 16, next + at);
  }
}

// The panels of a fused pass lie where the tiles of the products over points will.
template <bool kExact, bool kFused>
__global__ void __launch_bounds__(kThreads, 2)
    layer_back_kernel(Net net, const SlotRows* all, int layer, const float* field, bool gelu_first,
                      Addend d_add, float* d_field, float* partial) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  float* weights = shared;
  float* ones = weights + kBlockFloats;
  float* x_tile = ones + kThinFloats;
  float* d_tile = x_tile + kTileFloats;
  copy_blocks(fragments_of(net, rows, kSkipBlocks + 2 * layer + 1), 1, weights);
  for (int i = threadIdx.x; i < kThinFloats; i += kThreads) ones[i] = i % kThinStride == 0;
  const std::size_t slot = blockIdx.y * net.field_size();
  OuterShare d_weights = {};
  float d_bias[4] = {};
  const int tiles = net.field_points() / kTilePoints;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::size_t at = slot + std::size_t(tile * kTilePoints + warp_index() * 16) * 64;
    Tile d, x, sum;
    load_tile(d_field + at, 64, 16, d);
    load_tile(field + at, 64, 16, x);
    if constexpr (kFused) {
      zero(sum);
    } else {
      load_tile(d_add.values + at, 64, 16, sum);
    }
    __syncthreads();  // the tiles of the round before have been read; the weights are there
    if constexpr (kFused) {
      add_transformed<kExact>(d_add.pass, d_add.values + blockIdx.y * d_add.pass.in.size, tile,
                              x_tile, sum);
      __syncthreads();
    }
    multiply<kExact>(d, weights, sum);
    if (gelu_first) {
#pragma unroll
      for (int i = 0; i < 16; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          sum.v[r][i] *= activate<kExact>(x.v[r][i]);
        }
    }
    store_tile(sum, 64, 16, d_field + at);
    share_tile<kExact>(x, x_tile);
    share_tile<kExact>(d, d_tile);
    __syncthreads();
    outer<kExact>(x_tile, d_tile, d_weights);
    thin_outer<kExact>(ones, d_tile, d_bias);
  }
  partial += (blockIdx.y * gridDim.x + blockIdx.x) * std::size_t(net.layers * kLayerSize) +
             layer * kLayerSize;
  store_outer(d_weights, 64, partial);
  store_thin_row(d_bias, 0, partial + 64 * 64);
}

// --- projection ----------------------------------------------------------------------------------

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
    project_kernel(Net net, const SlotRows* all, const float* field, float* hidden_out) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  float* weights1 = shared;
  float* rest = weights1 + kChunks * kBlockFloats;  // bias of 1, weights of 2, bias of 2
  float* thin = rest + kHidden + kChannels * kHidden + kChannels;
  const float* dense = net.weights + rows.member * net.member_size;
  copy_blocks(fragments_of(net, rows, kProject1Blocks), kChunks, weights1);
  copy_floats(dense + kProject1Bias, kHidden + kChannels * kHidden + kChannels, rest);
  __syncthreads();
  const std::size_t slot = blockIdx.y * net.field_size();
  const float* mean = net.mean + rows.member * kChannels;
  const float* deviation = net.deviation + rows.member * kChannels;
  const int tiles = net.field_points() / kTilePoints;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    if (first / net.points >= rows.rows) break;
    Tile z;
    load_tile(field + slot + std::size_t(first) * 64, 64, 16, z);
    start_output(net, rest + kHidden + kChannels * kHidden, thin);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden;
      fill_tile(rest + 64 * j, hidden);
      multiply<kExact>(z, weights1 + j * kBlockFloats, hidden);
      if (hidden_out != nullptr)
        store_tile(
            hidden, kHidden, 16,
            hidden_out + (std::size_t(blockIdx.y) * net.field_points() + first) * kHidden + 64 * j);
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

template <bool kExact, bool kResident>
__global__ void __launch_bounds__(kThreads, 1)
    project_back_kernel(Net net, const SlotRows* all, const float* field, float* d_field,
                        float* partial, double* losses) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
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

  const std::size_t slot = blockIdx.y * net.field_size();
  const float* mean = net.mean + rows.member * kChannels;
  const float* deviation = net.deviation + rows.member * kChannels;
  const float weight = 2.0f / float(rows.rows * net.out * net.points);
  OuterShare d_weights1[kChunks] = {};
  float d_weights2[kChunks][4] = {}, d_bias1[kChunks][4] = {};
  double squares = 0.0;
  const int tiles = net.field_points() / kTilePoints;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int first = tile * kTilePoints + warp_index() * 16;
    Tile z, d_z;
    load_tile(field + slot + std::size_t(first) * 64, 64, 16, z);
    __syncthreads();  // the tiles of the round before have been read
    start_output(net, dense + kProject2Bias, thin);
    share_tile<kExact>(z, z_tile);
    for (int j = 0; j < kChunks; ++j) {
      Tile hidden;
      fill_tile(rest + 64 * j, hidden);
      const int held = chunk(j);
      multiply<kExact>(z, up + held * kBlockFloats, hidden);
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
      *out = weight * deviation[c] * error;
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
      multiply<kExact>(z, up + held * kBlockFloats, hidden);
      zero(d_hidden);
      for (int c = 0; c < net.out; ++c)
        add_scaled(mine[c], mine[8 * kThinStride + c], rest + kHidden + c * kHidden + 64 * j,
                   d_hidden);
#pragma unroll
      for (int i = 0; i < 16; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          d_hidden.v[r][i] *= activate<kExact>(hidden.v[r][i]);
        }
      multiply<kExact>(d_hidden, down + held * kBlockFloats, d_z);
      if (j > 0) __syncthreads();
      share_tile<kExact>(hidden, h_tile);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kChunks; ++k)
        if (k == j) thin_outer<kExact>(thin, h_tile, d_weights2[k]);
      __syncthreads();
      share_tile<kExact>(d_hidden, h_tile);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kChunks; ++k)
        if (k == j) {
          thin_outer<kExact>(thin, h_tile, d_bias1[k]);
          outer<kExact>(z_tile, h_tile, d_weights1[k]);
        }
    }
    store_tile(d_z, 64, 16, d_field + slot + std::size_t(first) * 64);
  }

  const int part = blockIdx.y * gridDim.x + blockIdx.x;
  partial += part * std::size_t(kLayers);
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    store_outer(d_weights1[j], kHidden, partial + kProject1 + 64 * j);
    store_thin_row(d_bias1[j], 15, partial + kProject1Bias + 64 * j);
#pragma unroll
    for (int c = 0; c < 15; ++c)
      if (c < net.out) store_thin_row(d_weights2[j], c, partial + kProject2 + c * kHidden + 64 * j);
  }
  // Losses and the last bias, summed in a fixed order.
  __syncthreads();
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

// --- passes --------------------------------------------------------------------------------------

__device__ void store_pair(const Pass& pass, float* panel, int line, int channel, float a,
                           float b) {
  if (line < pass.lines_out)
    *reinterpret_cast<float2*>(panel + pass.out.offset(line) + channel) = make_float2(a, b);
}

constexpr int kShortLines = 64;  // panels up to this length: one warp each
constexpr int kLongLines = 256;  // lines of a long panel held at a time

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 2)
    short_pass_kernel(const SlotRows* all, Pass pass, const float* in, bool gelu_first,
                      float* out) {
  extern __shared__ __align__(16) float shared[];
  if (slot_rows(all).rows == 0) return;
  const int steps = (pass.lines_in + 7) / 8, blocks = (pass.lines_out + 15) / 16;
  const int lane = lane_index(), g = lane_group(), t = lane_in_group();
  const int warps = blockDim.x / kWarp;
  float* lines = shared + warp_index() * steps * 8 * kTileStride;
  in += blockIdx.y * pass.in.size;
  out += blockIdx.y * pass.out.size;
  for (int p = blockIdx.x * warps + warp_index(); p < pass.panels; p += gridDim.x * warps) {
    __syncwarp();
    load_panel<kExact>(pass, in + panel_begin(p, pass.inner, pass.in), 0, steps * 8, gelu_first,
                       lane, kWarp, lines);
    __syncwarp();
    float* to = out + panel_begin(p, pass.inner, pass.out);
    for (int block = 0; block < blocks; ++block) {
      float sum[8][4] = {};
#pragma unroll 4
      for (int s = 0; s < steps; ++s) {
        const float4 m = __ldg(pass.matrix + (block * steps + s) * kWarp + lane);
        const Left<kExact> a(m.x, m.y, m.z, m.w);
        const float* b = lines + (8 * s + t) * kTileStride + g;
#pragma unroll
        for (int j = 0; j < 8; ++j) multiply(sum[j], a, b[8 * j], b[4 * kTileStride + 8 * j]);
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        store_pair(pass, to, 16 * block + g, 8 * j + 2 * t, sum[j][0], sum[j][1]);
        store_pair(pass, to, 16 * block + g + 8, 8 * j + 2 * t, sum[j][2], sum[j][3]);
      }
    }
  }
}

// One panel a block. Warps stand in kColumns columns of 64 / kColumns channels; each makes up to
// kBlocks blocks of 16 lines at a time.
template <bool kExact, int kColumns, int kBlocks>
__global__ void __launch_bounds__(kThreads, 2)
    long_pass_kernel(const SlotRows* all, Pass pass, const float* in, bool gelu_first, float* out) {
  extern __shared__ __align__(16) float shared[];
  if (slot_rows(all).rows == 0) return;
  constexpr int kRowWarps = kWarps / kColumns, kTiles = 8 / kColumns, kHeldSteps = kLongLines / 8;
  const int steps = (pass.lines_in + 7) / 8, blocks = (pass.lines_out + 15) / 16;
  const int lane = lane_index(), g = lane_group(), t = lane_in_group();
  const int row_warp = warp_index() / kColumns, column = warp_index() % kColumns * (64 / kColumns);
  const int p = blockIdx.x;
  in += blockIdx.y * pass.in.size + panel_begin(p, pass.inner, pass.in);
  out += blockIdx.y * pass.out.size + panel_begin(p, pass.inner, pass.out);
  const bool once = steps <= kHeldSteps;
  if (once) load_panel<kExact>(pass, in, 0, steps * 8, gelu_first, threadIdx.x, kThreads, shared);
  __syncthreads();
  for (int first = 0; first < blocks; first += kRowWarps * kBlocks) {
    float sum[kBlocks][kTiles][4] = {};
    const float4* matrix[kBlocks];  // of blocks beyond the last one: the last one's, dropped below
#pragma unroll
    for (int i = 0; i < kBlocks; ++i)
      matrix[i] =
          pass.matrix + min(first + row_warp + kRowWarps * i, blocks - 1) * steps * kWarp + lane;
    const int mine = (blocks - first - row_warp + kRowWarps - 1) / kRowWarps;
    for (int begin = 0; begin < steps; begin += kHeldSteps) {
      const int end = min(steps, begin + kHeldSteps);
      if (!once) {
        __syncthreads();
        load_panel<kExact>(pass, in, begin * 8, (end - begin) * 8, gelu_first, threadIdx.x,
                           kThreads, shared);
        __syncthreads();
      }
#pragma unroll 4
      for (int s = begin; s < end; ++s) {
        const float* line = shared + (8 * (s - begin) + t) * kTileStride + column + g;
        float b[kTiles][2];
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
          b[j][0] = line[8 * j];
          b[j][1] = line[4 * kTileStride + 8 * j];
        }
#pragma unroll
        for (int i = 0; i < kBlocks; ++i) {
          if (i >= mine) continue;
          const float4 m = __ldg(matrix[i] + s * kWarp);
          const Left<kExact> a(m.x, m.y, m.z, m.w);
#pragma unroll
          for (int j = 0; j < kTiles; ++j) multiply(sum[i][j], a, b[j][0], b[j][1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      if (i >= mine) continue;
      const int block = first + row_warp + kRowWarps * i;
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        store_pair(pass, out, 16 * block + g, column + 8 * j + 2 * t, sum[i][j][0], sum[i][j][1]);
        store_pair(pass, out, 16 * block + g + 8, column + 8 * j + 2 * t, sum[i][j][2],
                   sum[i][j][3]);
      }
    }
  }
}

// --- products of modes ---------------------------------------------------------------------------

constexpr int kModeStride = 72;       // of weights [64][.] in shared memory: reads along rows
constexpr int kSpectrumStride = 132;  // of rows [32][re 64, im 64, .]

// spectrum [32][128] -> shared [32][kSpectrumStride].
__device__ void load_spectrum(const float* from, float* to) {
  for (int i = threadIdx.x; i < kRows * 32; i += blockDim.x)
    *reinterpret_cast<float4*>(to + i / 32 * kSpectrumStride + i % 32 * 4) =
        *reinterpret_cast<const float4*>(from + i * 4);
}

// Complex products of a warp: both parts of 8 columns of [32 rows] x [64][64]. `w(part, k, n)`
// gives the right side; conjugate: of it.
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
      const Left<kExact> real(x[0], y[0], x[4], y[4]);
      const Left<kExact> imag(x[64], y[64], x[68], y[68]);
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
  for (int i = threadIdx.x; i < 2 * 64 * 16; i += blockDim.x) {
    float4 w = *reinterpret_cast<const float4*>(from + i * 4);
    w = make_float4(right_side<kExact>(w.x), right_side<kExact>(w.y), right_side<kExact>(w.z),
                    right_side<kExact>(w.w));
    *reinterpret_cast<float4*>(to + i / 16 * kModeStride + i % 16 * 4) = w;
  }
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 3)
    mode_product_kernel(Net net, const SlotRows* all, int layer, const float* spectrum,
                        float* product) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  float* weights = shared;
  float* lines = weights + 128 * kModeStride;
  const std::size_t at = blockIdx.y * net.spectrum_size() + std::size_t(blockIdx.x) * kRows * 128;
  load_mode<kExact>(net.weights + rows.member * net.member_size + net.spectral(layer) +
                        std::size_t(blockIdx.x) * kModeSize,
                    weights);
  load_spectrum(spectrum + at, lines);
  __syncthreads();
  float re[2][4] = {}, im[2][4] = {};
  complex_product<kExact>(
      lines, [&](int part, int k, int n) { return weights[(part * 64 + k) * kModeStride + n]; }, re,
      im);
  store_spectrum(re, im, product + at);
}

// One Adam step of weight w with moments m and v.
__device__ void adam(const SlotRows& rows, float gradient, float& m, float& v, float& w) {
  m = rows.beta1 * m + (1.0f - rows.beta1) * gradient;
  v = rows.beta2 * v + (1.0f - rows.beta2) * gradient * gradient;
  w -= rows.rate * m / (sqrtf(v) * rows.root_scale + rows.epsilon);
}
// Of kPieces pieces of four weights, `stride` apart; all are read before any is written, so that
// the reads overlap.
template <int kPieces>
__device__ void adam(const Net& net, const SlotRows& rows, std::size_t at, std::size_t stride,
                     const float4 (&gradient)[kPieces]) {
  float4 m[kPieces], v[kPieces], w[kPieces];
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    m[i] = *reinterpret_cast<const float4*>(net.moment1 + at + i * stride);
    v[i] = *reinterpret_cast<const float4*>(net.moment2 + at + i * stride);
    w[i] = *reinterpret_cast<const float4*>(net.weights + at + i * stride);
  }
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    adam(rows, gradient[i].x, m[i].x, v[i].x, w[i].x);
    adam(rows, gradient[i].y, m[i].y, v[i].y, w[i].y);
    adam(rows, gradient[i].z, m[i].z, v[i].z, w[i].z);
    adam(rows, gradient[i].w, m[i].w, v[i].w, w[i].w);
    *reinterpret_cast<float4*>(net.moment1 + at + i * stride) = m[i];
    *reinterpret_cast<float4*>(net.moment2 + at + i * stride) = v[i];
    *reinterpret_cast<float4*>(net.weights + at + i * stride) = w[i];
  }
}

template <bool kExact>
__global__ void __launch_bounds__(kThreads, 2)
    mode_back_kernel(Net net, const SlotRows* all, int layer, float* spectrum,
                     const float* d_product, float* gradient) {
  extern __shared__ __align__(16) float shared[];
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  float* weights = shared;
  float* in = weights + 128 * kModeStride;
  float* d = in + kRows * kSpectrumStride;
  const std::size_t at = blockIdx.y * net.spectrum_size() + std::size_t(blockIdx.x) * kRows * 128;
  const std::size_t mode = net.spectral(layer) + std::size_t(blockIdx.x) * kModeSize;
  const std::size_t own = rows.member * net.member_size + mode;
  load_mode<kExact>(net.weights + own, weights);
  load_spectrum(spectrum + at, in);
  load_spectrum(d_product + at, d);
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

  // d_W = conj(in)^T d: this warp's 32 x 16 of both parts.
  OuterShare d_re = {}, d_im = {};
#pragma unroll
  for (int k = t; k < kRows; k += 8) {
    float b[2][2][2];  // [part][column block][k, k + 4]
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float* x = d + k * kSpectrumStride + part * 64 + outer_column() + 8 * j + g;
        b[part][j][0] = right_side<kExact>(x[0]);
        b[part][j][1] = right_side<kExact>(x[4 * kSpectrumStride]);
      }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float* x = in + k * kSpectrumStride + outer_row() + 16 * i + g;
      const float* y = x + 4 * kSpectrumStride;
      const Left<kExact> real(x[0], x[8], y[0], y[8]);
      const Left<kExact> imag(x[64], x[72], y[64], y[72]);
      const Left<kExact> minus(-x[64], -x[72], -y[64], -y[72]);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        multiply(d_re.d[i][j], real, b[0][j][0], b[0][j][1]);
        multiply(d_re.d[i][j], imag, b[1][j][0], b[1][j][1]);
        multiply(d_im.d[i][j], real, b[1][j][0], b[1][j][1]);
        multiply(d_im.d[i][j], minus, b[0][j][0], b[0][j][1]);
      }
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

// --- dense weights -------------------------------------------------------------------------------

__global__ void dense_step_kernel(Net net, const SlotRows* all, int ends_parts, int layer_parts,
                                  const float* ends, const float* layers, const double* losses,
                                  double* squares, float* gradient) {
  const SlotRows& rows = slot_rows(all);
  if (rows.rows == 0) return;
  const int size = dense_size(net.layers), i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i < size) {
    // The sums of lifting and projection, or those of a layer.
    const bool in_ends = i < kLayers;
    const int parts = in_ends ? ends_parts : layer_parts;
    const int stride = in_ends ? kLayers : size - kLayers;
    const float* from =
        (in_ends ? ends + i : layers + (i - kLayers)) + std::size_t(blockIdx.y) * parts * stride;
    float4 sum = make_float4(0, 0, 0, 0);
    // Channels beyond the network's are written by nobody.
    const auto padding = [&](int at) {
      return (at < kLift1Bias && at / kHidden >= net.in) ||
             (at >= kProject2 && at < kProject2Bias && (at - kProject2) / kHidden >= net.out) ||
             (at >= kProject2Bias + net.out && at < kLayers);
    };
#pragma unroll 8
    for (int p = 0; p < parts; ++p) {
      const float4 part = *reinterpret_cast<const float4*>(from + std::size_t(p) * stride);
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
    if (padding(i)) sum.x = 0.0f;
    if (padding(i + 1)) sum.y = 0.0f;
    if (padding(i + 2)) sum.z = 0.0f;
    if (padding(i + 3)) sum.w = 0.0f;
    if (gradient != nullptr) {
      *reinterpret_cast<float4*>(gradient + i) = sum;
    } else {
      const float4 gradients[1] = {sum};
      adam(net, rows, rows.member * net.member_size + i, 0, gradients);
    }
  }
  if (i == 0) {
    double sum = 0.0;
    for (int p = 0; p < ends_parts; ++p) sum += losses[blockIdx.y * ends_parts + p];
    squares[blockIdx.y] += sum;
  }
}

// --- rows of a committee -------------------------------------------------------------------------

__global__ void average_kernel(const float* parts, std::size_t part_stride, int members,
                               float* const* to, int values) {
  for (int v = threadIdx.x; v < values; v += blockDim.x) {
    double sum = 0.0;
    for (int m = 0; m < members; ++m)
      sum += double(parts[m * part_stride + std::size_t(blockIdx.x) * values + v]);
    to[blockIdx.x][v] = float(sum / members);
  }
}

// Sums over values in their order, in double, as the CPU does, so that both give the same bits: 32
// sums a block. term(sum, value) is computed by all threads, a piece of each sum at a time; then
// one thread a sum adds its piece.
constexpr int kSumsPerBlock = 32, kPiece = 128, kSumThreads = 256;
template <class Term>
__device__ double ordered_sum(int sums, int values, Term term) {
  __shared__ double piece[kSumsPerBlock][kPiece + 1];
  double sum = 0.0;
  for (int first = 0; first < values; first += kPiece) {
    const int n = min(kPiece, values - first);
#pragma unroll 8
    for (int i = threadIdx.x; i < kSumsPerBlock * kPiece; i += kSumThreads) {
      const int s = i / kPiece, v = i % kPiece;
      if (s < sums && v < n) piece[s][v] = term(s, first + v);
    }
    __syncthreads();
    if (threadIdx.x < sums)
      for (int v = 0; v < n; ++v) sum = __dadd_rn(sum, piece[threadIdx.x][v]);
    __syncthreads();
  }
  return sum;
}

__global__ void __launch_bounds__(kSumThreads)
    distances_kernel(const float* const* x, const float* const* y, int rows, int values,
                     double* out) {
  const int first = blockIdx.x * kSumsPerBlock, n = min(kSumsPerBlock, rows - first);
  const double sum = ordered_sum(n, values, [&](int s, int v) {
    const double d = double(x[first + s][v]) - double(y[first + s][v]);
    return __dmul_rn(d, d);
  });
  if (threadIdx.x < n) out[first + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(kSumThreads)
    spreads_kernel(const float* const* x, int groups, int members, int values, double* out) {
  const int first = blockIdx.x * kSumsPerBlock, n = min(kSumsPerBlock, groups - first);
  // Point by point, members inside: value v * members + m.
  const double sum = ordered_sum(n, values * members, [&](int s, int i) {
    const float* const* group = x + std::size_t(first + s) * members;
    const int v = i / members;
    double mean = 0.0;
    for (int m = 0; m < members; ++m) mean = __dadd_rn(mean, double(group[m][v]));
    mean = mean / members;
    const double d = double(group[i % members][v]) - mean;
    return __dmul_rn(d, d);
  });
  if (threadIdx.x < n) out[first + threadIdx.x] = sum / members;
}

__global__ void sketch_kernel(const float* hidden, std::size_t row_stride,
                              const std::uint32_t* first, const std::uint32_t* entries,
                              const int* feature_row, double* features) {
  const float* h = hidden + blockIdx.x * row_stride;
  const int c = threadIdx.x;
  double sum = 0.0;
  // Short runs in float, their total in double, as on the CPU.
  for (std::uint32_t i = first[c]; i < first[c + 1]; i += 64) {
    const std::uint32_t end = min(i + 64, first[c + 1]);
    float run = 0.0f;
    for (std::uint32_t k = i; k < end; ++k) {
      const std::uint32_t e = entries[k];
      run += (e & 1) ? -h[e >> 1] : h[e >> 1];
    }
    sum += double(run);
  }
  features[std::size_t(feature_row[blockIdx.x]) * 512 + c] += 0.5 * sum;
}

// --- launches ------------------------------------------------------------------------------------

constexpr std::size_t bytes(std::size_t floats) {
  return floats * sizeof(float);
}
constexpr std::size_t kLiftBytes =
    bytes(kChunks * kBlockFloats + (kChannels + 1) * kHidden + kThinFloats);
constexpr std::size_t kLiftBackBytes = kLiftBytes + bytes(2 * kTileFloats);
constexpr std::size_t kLayerBytes = bytes(kBlockFloats);
// Panels that may be held: with the rest, two blocks fit on a multiprocessor.
constexpr std::size_t kFusedMost = bytes(264 * kTileStride);
std::size_t panel_bytes(const Pass& pass) {
  return bytes(std::size_t(panels_of_tile(pass)) * ((pass.lines_in + 7) / 8 * 8) * kTileStride);
}
std::size_t layer_back_bytes(std::size_t panels) {
  return bytes(kBlockFloats + kThinFloats) + std::max(panels, bytes(2 * kTileFloats));
}
constexpr std::size_t kProjectBytes =
    bytes(kChunks * kBlockFloats + kHidden + kChannels * kHidden + kChannels + kThinFloats);
constexpr std::size_t project_back_bytes(bool resident, int out) {
  return bytes(2 * (resident ? kChunks : 1) * kBlockFloats + 2 * kTileFloats + kThinFloats +
               kHidden + out * kHidden + kWarps * kChannels);
}
constexpr std::size_t kModeBytes = bytes(128 * kModeStride + kRows * kSpectrumStride);
constexpr std::size_t kModeBackBytes = bytes(128 * kModeStride + 2 * kRows * kSpectrumStride);
constexpr int kShortWarps = 4;
std::size_t short_bytes(int lines) {
  return bytes(std::size_t(kShortWarps) * lines * kTileStride);
}
std::size_t long_bytes(int lines) {
  return bytes(std::size_t(lines) * kTileStride);
}

template <class Kernel>
void allow(Kernel kernel, std::size_t size) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(size)),
        "shared memory of a kernel");
}

std::size_t shared_limit() {
  int device = 0, limit = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "shared memory of the device");
  return std::size_t(limit);
}

bool resident_fits(int out) {
  static const std::size_t limit = shared_limit();
  return project_back_bytes(true, out) <= limit;
}

template <bool kExact>
void prepare() {
  const std::size_t limit = shared_limit();
  allow(lift_kernel<kExact>, kLiftBytes);
  allow(lift_back_kernel<kExact>, kLiftBackBytes);
  allow(layer_kernel<kExact, false>, kLayerBytes);
  allow(layer_kernel<kExact, true>, kLayerBytes + kFusedMost);
  allow(layer_back_kernel<kExact, false>, layer_back_bytes(0));
  allow(layer_back_kernel<kExact, true>, layer_back_bytes(kFusedMost));
  allow(project_kernel<kExact>, kProjectBytes);
  if (resident_fits(1)) allow(project_back_kernel<kExact, true>, limit);
  allow(project_back_kernel<kExact, false>, project_back_bytes(false, kChannels));
  allow(short_pass_kernel<kExact>, short_bytes(kShortLines));
  allow(long_pass_kernel<kExact, 8, 3>, long_bytes(kLongLines));
  allow(long_pass_kernel<kExact, 2, 4>, long_bytes(kLongLines));
  allow(mode_product_kernel<kExact>, kModeBytes);
  allow(mode_back_kernel<kExact>, kModeBackBytes);
}

void launched(const char* name) {
  check(cudaGetLastError(), name);
}

unsigned as_grid(int n) {
  return unsigned(n);
}

// Blocks of a slot where nothing is summed over points: enough for the device, few enough that the
// weights a block reads first are used often.
dim3 tiles_grid(const Launch& l, int tiles_per_block) {
  const int tiles = l.net.field_points() / kTilePoints;
  return dim3(as_grid((tiles + tiles_per_block - 1) / tiles_per_block), as_grid(l.slots));
}
dim3 parts_grid(const Launch& l) {
  return dim3(as_grid(parts_of(l.net.points)), as_grid(l.slots));
}

}  // namespace

int layer_parts_of(int points) {
  const int tiles = (kRows * points + kTilePoints - 1) / kTilePoints;
  return std::clamp((tiles + 1) / 2, 1, 64);
}

int parts_of(int points) {
  // Few parts make few sums to add up, many spread the work of few members: some tiles for each.
  const int tiles = (kRows * points + kTilePoints - 1) / kTilePoints;
  return std::clamp((tiles + 4) / 5, 1, 26);
}

void prepare_kernels() {
  prepare<true>();
  prepare<false>();
}

// Calls f(std::bool_constant) for the precision asked for.
#define STAP_LAUNCH(exact, name, ...) \
  do {                                \
    if (exact) {                      \
      name<true> __VA_ARGS__;         \
    } else {                          \
      name<false> __VA_ARGS__;        \
    }                                 \
    launched(#name);                  \
  } while (false)

void gather_rows(const Course* courses, int slots, const int* step, SlotRows* rows, int values,
                 cudaStream_t stream) {
  gather_rows_kernel<<<as_grid(slots), kRows, 0, stream>>>(courses, step, rows, values);
  launched("gather_rows");
}
void order_weights(const Launch& l) {
  const dim3 grid(as_grid(kSkipBlocks + 2 * l.net.layers), as_grid(l.slots));
  STAP_LAUNCH(l.exact, order_weights_kernel, <<<grid, kThreads, 0, l.stream>>>(l.net, l.rows));
}

void next_step(int* step, cudaStream_t stream) {
  next_step_kernel<<<1, 1, 0, stream>>>(step);
  launched("next_step");
}

void lift(const Launch& l, float* field) {
  STAP_LAUNCH(l.exact, lift_kernel,
              <<<tiles_grid(l, 2), kThreads, kLiftBytes, l.stream>>>(l.net, l.rows, field));
}

void transform(const Launch& l, const Pass& pass, const float* in, bool gelu_first, float* out) {
  const int lines = (pass.lines_in + 7) / 8 * 8;
  if (lines <= kShortLines && pass.lines_out <= kShortLines) {
    const dim3 grid(as_grid((pass.panels + kShortWarps - 1) / kShortWarps), as_grid(l.slots));
    STAP_LAUNCH(l.exact, short_pass_kernel,
                <<<grid, kShortWarps * kWarp, short_bytes(lines), l.stream>>>(l.rows, pass, in,
                                                                              gelu_first, out));
    return;
  }
  const dim3 grid(as_grid(pass.panels), as_grid(l.slots));
  const std::size_t size = long_bytes(std::min(lines, kLongLines));
  const auto run = [&](auto kernel) {
    kernel<<<grid, kThreads, size, l.stream>>>(l.rows, pass, in, gelu_first, out);
    launched("transform");
  };
  const bool few = pass.lines_out <= 3 * 16;
  if (l.exact) {
    few ? run(long_pass_kernel<true, 8, 3>) : run(long_pass_kernel<true, 2, 4>);
  } else {
    few ? run(long_pass_kernel<false, 8, 3>) : run(long_pass_kernel<false, 2, 4>);
  }
}

void mode_product(const Launch& l, int layer, const float* spectrum, float* product) {
  const dim3 grid(as_grid(l.net.modes), as_grid(l.slots));
  STAP_LAUNCH(l.exact, mode_product_kernel,
              <<<grid, kThreads, kModeBytes, l.stream>>>(l.net, l.rows, layer, spectrum, product));
}

bool can_fuse(const Pass& pass) {
  const int lines = pass.lines_out;
  const bool whole = lines % 16 == 0 && (lines % kTilePoints == 0 || kTilePoints % lines == 0);
  return whole && panel_bytes(pass) <= kFusedMost;
}

void layer(const Launch& l, int layer, const float* field, bool gelu_first, const Pass* pass,
           const float* add, float* next) {
  const Addend addend{add, pass != nullptr ? *pass : Pass{}};
  const std::size_t size = kLayerBytes + (pass != nullptr ? panel_bytes(*pass) : 0);
  const auto run = [&](auto kernel) {
    kernel<<<tiles_grid(l, 2), kThreads, size, l.stream>>>(l.net, l.rows, layer, field, gelu_first,
                                                           addend, next);
    launched("layer");
  };
  if (l.exact) {
    pass != nullptr ? run(layer_kernel<true, true>) : run(layer_kernel<true, false>);
  } else {
    pass != nullptr ? run(layer_kernel<false, true>) : run(layer_kernel<false, false>);
  }
}

void project(const Launch& l, const float* field, float* hidden) {
  STAP_LAUNCH(
      l.exact, project_kernel,
      <<<tiles_grid(l, 2), kThreads, kProjectBytes, l.stream>>>(l.net, l.rows, field, hidden));
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
  if (l.exact) {
    resident ? run(project_back_kernel<true, true>) : run(project_back_kernel<true, false>);
  } else {
    resident ? run(project_back_kernel<false, true>) : run(project_back_kernel<false, false>);
  }
}

void mode_back(const Launch& l, int layer, float* spectrum, const float* d_product,
               float* gradient) {
  const dim3 grid(as_grid(l.net.modes), as_grid(l.slots));
  STAP_LAUNCH(l.exact, mode_back_kernel,
              <<<grid, kThreads, kModeBackBytes, l.stream>>>(l.net, l.rows, layer, spectrum,
                                                             d_product, gradient));
}

void layer_back(const Launch& l, int layer, const float* field, bool gelu_first, const Pass* pass,
                const float* d_add, float* d_field, float* partial) {
  const Addend addend{d_add, pass != nullptr ? *pass : Pass{}};
  const std::size_t size = layer_back_bytes(pass != nullptr ? panel_bytes(*pass) : 0);
  const dim3 grid(as_grid(layer_parts_of(l.net.points)), as_grid(l.slots));
  const auto run = [&](auto kernel) {
    kernel<<<grid, kThreads, size, l.stream>>>(l.net, l.rows, layer, field, gelu_first, addend,
                                               d_field, partial);
    launched("layer_back");
  };
  if (l.exact) {
    pass != nullptr ? run(layer_back_kernel<true, true>) : run(layer_back_kernel<true, false>);
  } else {
    pass != nullptr ? run(layer_back_kernel<false, true>) : run(layer_back_kernel<false, false>);
  }
}

void lift_back(const Launch& l, const float* d_field, float* partial) {
  STAP_LAUNCH(
      l.exact, lift_back_kernel,
      <<<parts_grid(l), kThreads, kLiftBackBytes, l.stream>>>(l.net, l.rows, d_field, partial));
}

void dense_step(const Launch& l, const float* ends, const float* layers, const double* losses,
                double* squares, float* gradient) {
  const dim3 grid(as_grid((dense_size(l.net.layers) / 4 + kThreads - 1) / kThreads),
                  as_grid(l.slots));
  dense_step_kernel<<<grid, kThreads, 0, l.stream>>>(l.net, l.rows, parts_of(l.net.points),
                                                     layer_parts_of(l.net.points), ends, layers,
                                                     losses, squares, gradient);
  launched("dense_step");
}

void average(const float* parts, std::size_t part_stride, int members, float* const* to, int rows,
             int values, cudaStream_t stream) {
  average_kernel<<<as_grid(rows), kThreads, 0, stream>>>(parts, part_stride, members, to, values);
  launched("average");
}
void distances(const float* const* x, const float* const* y, int rows, int values, double* out,
               cudaStream_t stream) {
  distances_kernel<<<as_grid((rows + kSumsPerBlock - 1) / kSumsPerBlock), kSumThreads, 0, stream>>>(
      x, y, rows, values, out);
  launched("distances");
}
void spreads(const float* const* x, int groups, int members, int values, double* out,
             cudaStream_t stream) {
  spreads_kernel<<<as_grid((groups + kSumsPerBlock - 1) / kSumsPerBlock), kSumThreads, 0, stream>>>(
      x, groups, members, values, out);
  launched("spreads");
}
void sketch(const float* hidden, std::size_t row_stride, const std::uint32_t* first,
            const std::uint32_t* entries, const int* feature_row, int rows, double* features,
            cudaStream_t stream) {
  sketch_kernel<<<as_grid(rows), 512, 0, stream>>>(hidden, row_stride, first, entries, feature_row,
                                                   features);
  launched("sketch");
}

}  // namespace stap::cuda
