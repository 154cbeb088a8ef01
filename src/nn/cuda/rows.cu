// Rows: those of a training step, and what a committee makes of its own.
#include "nn/cuda/kernels.h"

#include "nn/cuda/block.cuh"
#include "nn/cuda/launch.h"

namespace stap::cuda {
namespace {

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

}  // namespace

void gather_rows(const Course* courses, int slots, const int* step, SlotRows* rows, int values,
                 cudaStream_t stream) {
  gather_rows_kernel<<<as_grid(slots), kRows, 0, stream>>>(courses, step, rows, values);
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
