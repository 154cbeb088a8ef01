// What a training step is given in the place of its rows: their images, and noise on the inputs.
#include "nn/cuda/kernels.h"

#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

constexpr int kAugmentThreads = 256;

__device__ double open_unit(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = std::uint64_t(high) << 32 | low;
  return (double(bits >> 11) + 0.5) * 0x1.0p-53;
}

// Rng::normal(i) of the stream with this key (core/rng.cpp), which nvcc cannot take as it is:
// the same Philox block and the same arithmetic in double, so that both devices have the same noise
// but for the last bits of logarithm and cosine.
__device__ double normal(std::uint64_t key, std::uint64_t i) {
  std::uint32_t c0 = std::uint32_t(i), c1 = std::uint32_t(i >> 32), c2 = 0, c3 = 0;
  std::uint32_t k0 = std::uint32_t(key), k1 = std::uint32_t(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    c0 = std::uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = std::uint32_t(p1);
    c2 = std::uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = std::uint32_t(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return sqrt(-2.0 * log(open_unit(c0, c1))) * cospi(2.0 * open_unit(c2, c3));
}

__device__ float image(const std::int32_t* map, const float* state, int v) {
  if (map == nullptr) return state[v];
  const int from = map[v];
  return from < 0 ? -state[-1 - from] : state[from];
}

// A block a row: nobody else reads the pointers that it replaces.
__global__ void __launch_bounds__(kAugmentThreads)
    augment_kernel(Net net, const DeviceJob* jobs, const int* step, BundleRows* all, float* inputs,
                   float* targets) {
  const DeviceJob& job = jobs[blockIdx.y];
  BundleRows& rows = all[blockIdx.y];
  const int r = int(blockIdx.x), values = net.out * net.state_points;
  if ((job.noise == 0.0 && job.images == nullptr) || r >= rows.rows) return;
  const std::uint64_t place = std::uint64_t(*step) * job.batch + r;
  const float *in = rows.in[r], *target = rows.target[r];
  const std::int32_t* map = nullptr;
  if (job.images != nullptr) {
    const int which = job.images[place];
    map = job.maps + std::size_t(which) * (values + net.told);
    if (job.reversed >> which & 1) {
      const float* later = target;
      target = in;
      in = later;
    }
  }
  const std::size_t at = (std::size_t(blockIdx.y) * kRows + r) * values;
  for (int v = threadIdx.x; v < values; v += kAugmentThreads) {
    float value = image(map, in, v);
    if (job.noise > 0.0) {
      const double deviation =
          job.noise * double(net.deviation[job.member * kChannels + v / net.state_points]);
      value = float(double(value) + deviation * normal(job.noise_key, place * values + v));
    }
    inputs[at + v] = value;
    if (map != nullptr) targets[at + v] = image(map, target, v);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    rows.in[r] = inputs + at;
    if (map != nullptr) {
      rows.target[r] = targets + at;
      float told[kTold];
      for (int c = 0; c < net.told; ++c) told[c] = rows.told[r][c];
      for (int c = 0; c < net.told; ++c) rows.told[r][c] = image(map + values, told, c);
    }
  }
}

}  // namespace

void augment(const Launch& l, const DeviceJob* jobs, const int* step, BundleRows* rows,
             float* inputs, float* targets) {
  augment_kernel<<<dim3(kRows, as_grid(l.bundles)), kAugmentThreads, 0, l.stream>>>(
      l.net, jobs, step, rows, inputs, targets);
  launched("augment");
}

}  // namespace stap::cuda
