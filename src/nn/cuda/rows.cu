// Rows: those of a training step, and what a committee makes of its own.
#include "nn/cuda/kernels.h"

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

// --- rows of a step ------------------------------------------------------------------------------

__global__ void gather_rows_kernel(const DeviceJob* jobs, const int* step, BundleRows* rows,
                                   int values, int told) {
  const DeviceJob& job = jobs[blockIdx.x];
  BundleRows& to = rows[blockIdx.x];
  const std::uint32_t first = std::uint32_t(*step) * job.batch;
  const int n = first >= job.count ? 0 : int(min(job.batch, job.count - first));
  const int r = threadIdx.x;
  if (r < n) {
    const std::size_t row = job.order[first + r];
    to.in[r] = job.inputs + row * values;
    to.target[r] = job.targets + row * values;
    for (int c = 0; c < told; ++c) to.told[r][c] = job.told[row * told + c];
  }
  if (r == 0) {
    to.rows = n;
    to.made = n > 0 ? kRows : 0;
    to.member = job.member;
    if (n > 0) {
      const StepFactors factors = job.factors[*step];
      to.rate = factors.rate;
      to.root_scale = factors.root_scale;
      to.average_part = factors.average_part;
      to.beta1 = job.beta1;
      to.beta2 = job.beta2;
      to.epsilon = job.epsilon;
    }
  }
}

__global__ void next_step_kernel(int* step) {
  ++*step;
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

// Sums over values in their order, in double, as the CPU does, so that both give the same bits: a
// few sums a block, so that few rows occupy many multiprocessors. term(sum, value) is computed by
// all threads, a piece of each sum at a time; then one thread a sum adds its piece.
constexpr int kSumsPerBlock = 8, kPiece = 128, kSumThreads = 256;
template <class Term>
__device__ double ordered_sum(int sums, int values, Term term) {
  __shared__ double piece[kSumsPerBlock][kPiece + 1];
  double sum = 0.0;
  for (int first = 0; first < values; first += kPiece) {
    const int n = min(kPiece, values - first);
#pragma unroll
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
                     ChannelFactors channels, double* out) {
  const int first = blockIdx.x * kSumsPerBlock, n = min(kSumsPerBlock, rows - first);
  const double sum = ordered_sum(n, values, [&](int s, int v) {
    if (channels.mask != nullptr && channels.mask[v % channels.points] == 0) return 0.0;
    const double d =
        (double(x[first + s][v]) - double(y[first + s][v])) * channels.factors[v / channels.points];
    return __dmul_rn(d, d);
  });
  if (threadIdx.x < n) out[first + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(kSumThreads)
    spreads_kernel(const float* const* x, int groups, int members, int values,
                   ChannelFactors channels, double* out) {
  const int first = blockIdx.x * kSumsPerBlock, n = min(kSumsPerBlock, groups - first);
  // Point by point, members inside: value v * members + m.
  const double sum = ordered_sum(n, values * members, [&](int s, int i) {
    const float* const* group = x + std::size_t(first + s) * members;
    const int v = i / members;
    if (channels.mask != nullptr && channels.mask[v % channels.points] == 0) return 0.0;
    double mean = 0.0;
    for (int m = 0; m < members; ++m) mean = __dadd_rn(mean, double(group[m][v]));
    mean = mean / members;
    const double d = (double(group[i % members][v]) - mean) * channels.factors[v / channels.points];
    return __dmul_rn(d, d);
  });
  if (threadIdx.x < n) out[first + threadIdx.x] = sum / members;
}

// The mean of a channel, to all threads of a block; the order of the sum depends on how many points
// there are and on nothing else.
constexpr int kMeanThreads = 128;
__device__ bool is_open(const Net& net, int point) {
  return net.mask == nullptr || net.mask[point] != 0;
}
__device__ double mean_of(const Net& net, const float* values) {
  __shared__ double parts[kMeanThreads / kWarp];
  double sum = 0.0;
  for (int v = threadIdx.x; v < net.state_points; v += kMeanThreads)
    if (is_open(net, v)) sum += double(values[v]);
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (lane_index() == 0) parts[warp_index()] = sum;
  __syncthreads();
  sum = 0.0;
  for (const double part : parts) sum += part;
  __syncthreads();  // all have read the parts, and the values
  return sum / net.counted;
}

// A block a row. work(first value of a conserved channel, its place among the means).
template <class Work>
__device__ void for_conserved(const Net& net, Work work) {
  for (unsigned left = net.conserved; left != 0; left &= left - 1) {
    const std::size_t c = std::size_t(__ffs(int(left)) - 1);
    work(c * net.state_points, (std::size_t(blockIdx.y) * kRows + blockIdx.x) * kChannels + c);
  }
}

__global__ void __launch_bounds__(kMeanThreads)
    conserved_means_kernel(Net net, const BundleRows* all, double* means) {
  const BundleRows& rows = bundle_rows(all);
  if (int(blockIdx.x) >= rows.rows) return;
  for_conserved(net, [&](std::size_t first, std::size_t at) {
    const double mean = mean_of(net, rows.in[blockIdx.x] + first);
    if (threadIdx.x == 0) means[at] = mean;
  });
}

__global__ void __launch_bounds__(kMeanThreads)
    restore_means_kernel(Net net, const BundleRows* all, const double* means) {
  const BundleRows& rows = bundle_rows(all);
  if (int(blockIdx.x) >= rows.rows) return;
  for_conserved(net, [&](std::size_t first, std::size_t at) {
    float* x = rows.out[blockIdx.x] + first;
    const double shift = means[at] - mean_of(net, x);
    for (int p = threadIdx.x; p < net.state_points; p += kMeanThreads)
      if (is_open(net, p)) x[p] = float(double(x[p]) + shift);
  });
}

// A thread sums a coordinate of kSketchRows rows: a term's entry, read once, serves all of them,
// and so does one 16-byte read of shared memory. What bounds the kernel are these reads.
constexpr int kSketchRows = 4, kSketchThreads = kSketchCoordinates;
static_assert(kSketchSlice == kWarp && kSketchPart < 0x8000 && kRows % kSketchRows == 0);

__device__ void add_term(const float4* part, unsigned entry, float (&run)[kSketchRows]) {
  const float sign = __uint_as_float(0x3f800000u | (entry & 0x8000u) << 16);
  const float4 x = part[entry & 0x7fffu];
  run[0] = fmaf(sign, x.x, run[0]);
  run[1] = fmaf(sign, x.y, run[1]);
  run[2] = fmaf(sign, x.z, run[2]);
  run[3] = fmaf(sign, x.w, run[3]);
}

__global__ void __launch_bounds__(kSketchThreads, 3)
    sketch_kernel(Net net, const BundleRows* all, const BundleSketch* sketches, const float* hidden,
                  double* out) {
  extern __shared__ __align__(16) float4 part[];  // [activation][row], and zeros for no activation
  const int first = blockIdx.x * kSketchRows, n = min(kSketchRows, bundle_rows(all).rows - first);
  if (n <= 0) return;
  const BundleSketch& sketch = sketches[blockIdx.y];
  const int size = net.points * net.projection;
  hidden +=
      std::size_t(blockIdx.y) * net.field_points() * net.projection + std::size_t(first) * size;
  if (threadIdx.x == 0) part[kSketchPart] = make_float4(0, 0, 0, 0);
  double sum[kSketchRows] = {};
  const std::uint32_t* begin = sketch.first + warp_index();
  for (int at = 0; at < size; at += kSketchPart, begin += kSketchSlices) {
    __syncthreads();  // the part before has been read
#pragma unroll 2
    for (int i = threadIdx.x; i < min(kSketchPart, size - at); i += kSketchThreads) {
      const float* x = hidden + at + i;
      part[i] = make_float4(x[0], n > 1 ? x[size] : 0.0f, n > 2 ? x[2 * std::size_t(size)] : 0.0f,
                            n > 3 ? x[3 * std::size_t(size)] : 0.0f);
    }
    __syncthreads();
    // A part's terms in float, their total in double: about as many as the CPU sums in float.
    float run[kSketchRows] = {};
#pragma unroll 2
    for (std::uint32_t k = begin[0], end = begin[1]; k < end; ++k) {
      const ushort4 entry = sketch.entries[std::size_t(k) * kSketchSlice + lane_index()];
      add_term(part, entry.x, run);
      add_term(part, entry.y, run);
      add_term(part, entry.z, run);
      add_term(part, entry.w, run);
    }
#pragma unroll
    for (int r = 0; r < kSketchRows; ++r) sum[r] += double(run[r]);
  }
#pragma unroll
  for (int r = 0; r < kSketchRows; ++r)
    if (r < n)
      out[std::size_t(sketch.feature_row[first + r]) * kSketchCoordinates + threadIdx.x] =
          0.5 * sum[r];
}

constexpr std::size_t kSketchBytes = (kSketchPart + 1) * sizeof(float4);

}  // namespace

void prepare_rows() {
  allow(sketch_kernel, kSketchBytes);
}

void gather_rows(const DeviceJob* jobs, int bundles, const int* step, BundleRows* rows, int values,
                 int told, cudaStream_t stream) {
  gather_rows_kernel<<<as_grid(bundles), kRows, 0, stream>>>(jobs, step, rows, values, told);
  launched("gather_rows");
}

void next_step(int* step, cudaStream_t stream) {
  next_step_kernel<<<1, 1, 0, stream>>>(step);
  launched("next_step");
}

void average(const float* parts, std::size_t part_stride, int members, float* const* to, int rows,
             int values, cudaStream_t stream) {
  average_kernel<<<as_grid(rows), kThreads, 0, stream>>>(parts, part_stride, members, to, values);
  launched("average");
}

void distances(const float* const* x, const float* const* y, int rows, int values,
               ChannelFactors channels, double* out, cudaStream_t stream) {
  distances_kernel<<<as_grid((rows + kSumsPerBlock - 1) / kSumsPerBlock), kSumThreads, 0, stream>>>(
      x, y, rows, values, channels, out);
  launched("distances");
}

void spreads(const float* const* x, int groups, int members, int values, ChannelFactors channels,
             double* out, cudaStream_t stream) {
  spreads_kernel<<<as_grid((groups + kSumsPerBlock - 1) / kSumsPerBlock), kSumThreads, 0, stream>>>(
      x, groups, members, values, channels, out);
  launched("spreads");
}

void conserved_means(const Launch& l, double* means) {
  conserved_means_kernel<<<dim3(kRows, as_grid(l.bundles)), kMeanThreads, 0, l.stream>>>(
      l.net, l.rows, means);
  launched("conserved_means");
}

void restore_means(const Launch& l, const double* means) {
  restore_means_kernel<<<dim3(kRows, as_grid(l.bundles)), kMeanThreads, 0, l.stream>>>(
      l.net, l.rows, means);
  launched("restore_means");
}

void sketch(const Launch& l, const BundleSketch* sketches, const float* hidden, double* out) {
  const dim3 grid(as_grid(kRows / kSketchRows), as_grid(l.bundles));
  sketch_kernel<<<grid, kSketchThreads, kSketchBytes, l.stream>>>(l.net, l.rows, sketches, hidden,
                                                                  out);
  launched("sketch");
}

}  // namespace stap::cuda
