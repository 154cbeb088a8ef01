// The dense part of a Fourier layer and the sum with its spectral part, and back.
#include "nn/cuda/kernels.h"

#include <algorithm>
#include <type_traits>

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"
#include "nn/cuda/panel.cuh"

namespace stap::cuda {
namespace {

// Panels whose transforms have points in one tile.
__host__ __device__ int panels_of_tile(const Pass& pass) {
  return pass.lines_out < kTilePoints ? kTilePoints / pass.lines_out : 1;
}

// sum += the transform at the warp's points. All threads load the panels of the tile into `shared`.
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

// What is added to a layer's dense part: a field, or (kFused) what a pass makes of `values`.
struct Addend {
  const float* values;
  Pass pass;
};

// What happens to a layer's sum besides being stored.
struct After {
  bool gelu;  // it is stored after its GELU
  Pass pass;  // with kThen: the first pass of the transform of its GELU, to half
  float* half;
};

template <bool kExact, bool kFused, bool kThen>
__global__ void __launch_bounds__(kThreads, 2)
    layer_kernel(Net net, const BundleRows* all, int layer, const float* field, bool gelu_first,
                 Addend add, float* next, After after) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (!is_made(net, rows, blockIdx.x)) return;
  const float* weights = net.weights + rows.member * net.member_size + kLayers + layer * kLayerSize;
  copy_blocks(fragments_of(net, rows, kSkipBlocks + 2 * layer), 1, shared);
  const std::size_t bundle = blockIdx.y * net.field_size();
  for (int tile = blockIdx.x; is_made(net, rows, tile); tile += gridDim.x) {
    const std::size_t at = bundle + std::size_t(tile * kTilePoints + warp_index() * 16) * 64;
    Tile x, sum;
    load_tile(field + at, 64, x);
    fill_tile(weights + 64 * 64, sum);
    __syncthreads();  // the weights are there, the panels of the round before have been read
    if constexpr (kFused) {
      add_transformed<kExact>(add.pass, add.values + blockIdx.y * add.pass.in.size, tile,
                              shared + kBlockFloats, sum);
    } else {
      Tile more;
      load_tile(add.values + at, 64, more);
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        sum.v[0][i] += more.v[0][i];
        sum.v[1][i] += more.v[1][i];
      }
    }
    if (gelu_first) transform_tile(x, gelu<kExact>);
    multiply<kExact>(x, shared, sum);
    if (after.gelu) transform_tile(sum, gelu<kExact>);
    store_tile(sum, 64, next + at);
    if constexpr (kThen) {
      // Behind the panels, which slower warps may still read.
      static_assert(kFused);
      if (!after.gelu) transform_tile(sum, gelu<kExact>);
      const int panels = panels_of_tile(add.pass) * ((add.pass.lines_in + 7) / 8 * 8);
      transform_lines<kExact>(after.pass, sum, tile, shared + kBlockFloats + panels * kTileStride,
                              after.half + blockIdx.y * after.pass.out.size);
    }
  }
}

// The panels of a fused pass lie where the tiles of the products over points will.
template <bool kExact, bool kFused>
__global__ void __launch_bounds__(kThreads, 2)
    layer_back_kernel(Net net, const BundleRows* all, int layer, const float* field,
                      bool gelu_first, Addend d_add, float* d_field, float* partial) {
  extern __shared__ __align__(16) float shared[];
  const BundleRows& rows = bundle_rows(all);
  if (rows.rows == 0) return;
  float* weights = shared;
  float* x_tile = weights + kBlockFloats;
  float* d_tile = x_tile + kTileFloats;
  copy_blocks(fragments_of(net, rows, kSkipBlocks + 2 * layer + 1), 1, weights);
  const std::size_t bundle = blockIdx.y * net.field_size();
  OuterShare d_weights = {};
  float d_bias[2] = {};
  const int tiles = net.tiles();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::size_t at = bundle + std::size_t(tile * kTilePoints + warp_index() * 16) * 64;
    Tile d, x, sum;
    load_tile(d_field + at, 64, d);
    load_tile(field + at, 64, x);
    if constexpr (kFused) {
      zero(sum);
    } else {
      load_tile(d_add.values + at, 64, sum);
    }
    __syncthreads();  // the tiles of the round before have been read; the weights are there
    if constexpr (kFused) {
      add_transformed<kExact>(d_add.pass, d_add.values + blockIdx.y * d_add.pass.in.size, tile,
                              x_tile, sum);
      __syncthreads();
    }
    keep<kExact>(d);
    multiply<kExact, true>(d, weights, sum);
    if (gelu_first) {
      back_through_gelu<kExact>(x, sum);
    }
    store_tile(sum, 64, d_field + at);
    share_tile<kExact>(x, x_tile);
    share_kept(d, d_tile);
    __syncthreads();
    outer<kExact, true>(x_tile, d_tile, d_weights, d_bias);
  }
  partial += (blockIdx.y * gridDim.x + blockIdx.x) * std::size_t(net.layers * kLayerSize) +
             layer * kLayerSize;
  store_outer(d_weights, 64, partial);
  store_sums(d_bias, partial + 64 * 64);
}

constexpr std::size_t kLayerBytes = bytes(kBlockFloats);
// Panels that may be held: with the rest, two blocks fit on a multiprocessor.
constexpr std::size_t kFusedMost = bytes(264 * kTileStride);
std::size_t panel_bytes(const Pass& pass) {
  return bytes(std::size_t(panels_of_tile(pass)) * ((pass.lines_in + 7) / 8 * 8) * kTileStride);
}
std::size_t layer_back_bytes(std::size_t panels) {
  return bytes(kBlockFloats) + std::max(panels, bytes(2 * kTileFloats));
}

template <bool kExact>
void prepare() {
  allow(layer_kernel<kExact, false, false>, kLayerBytes);
  allow(layer_kernel<kExact, true, false>, kLayerBytes + kFusedMost);
  allow(layer_kernel<kExact, true, true>, kLayerBytes + kFusedMost);
  allow(layer_back_kernel<kExact, false>, layer_back_bytes(0));
  allow(layer_back_kernel<kExact, true>, layer_back_bytes(kFusedMost));
}

}  // namespace

void prepare_layer() {
  prepare<true>();
  prepare<false>();
}

bool can_fuse(const Pass& pass) {
  const int lines = pass.lines_out;
  const bool whole = lines % 16 == 0 && (lines % kTilePoints == 0 || kTilePoints % lines == 0);
  return whole && panel_bytes(pass) <= kFusedMost;
}

bool can_follow(const Pass& first, const Pass& last) {
  return first.lines_in % 8 == 0 && kTilePoints % first.lines_in == 0 && can_fuse(last) &&
         panel_bytes(last) + bytes(kTileFloats) <= kFusedMost;
}

void layer(const Launch& l, int layer, const float* field, bool gelu_first, const Pass* pass,
           const float* add, float* next, bool gelu_after, const Pass* then, float* half) {
  const Addend addend{add, pass != nullptr ? *pass : Pass{}};
  const After after{gelu_after, then != nullptr ? *then : Pass{}, half};
  const std::size_t size = kLayerBytes + (pass != nullptr ? panel_bytes(*pass) : 0) +
                           (then != nullptr ? bytes(kTileFloats) : 0);
  const auto run = [&](auto kernel) {
    kernel<<<tiles_grid(l), kThreads, size, l.stream>>>(l.net, l.rows, layer, field, gelu_first,
                                                        addend, next, after);
    launched("layer");
  };
  const auto choose = [&](auto exact) {
    constexpr bool kExact = decltype(exact)::value;
    if (then != nullptr)
      run(layer_kernel<kExact, true, true>);
    else if (pass != nullptr)
      run(layer_kernel<kExact, true, false>);
    else
      run(layer_kernel<kExact, false, false>);
  };
  l.exact ? choose(std::true_type{}) : choose(std::false_type{});
}

void layer_back(const Launch& l, int layer, const float* field, bool gelu_first, const Pass* pass,
                const float* d_add, float* d_field, float* partial) {
  const Addend addend{d_add, pass != nullptr ? *pass : Pass{}};
  const std::size_t size = layer_back_bytes(pass != nullptr ? panel_bytes(*pass) : 0);
  const dim3 grid(as_grid(layer_parts_of(l.net.points)), as_grid(l.bundles));
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

}  // namespace stap::cuda
