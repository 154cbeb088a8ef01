#include "core/fft_rows.h"

#include <algorithm>
#include <cstdint>

#include "core/fft_plan.h"

namespace stap {
namespace {

constexpr std::size_t kCacheLine = 64;

/// std::complex<T> may be read and written as two T (the standard promises it).
template <class T>
const T* parts(const std::complex<T>* values) {
  return reinterpret_cast<const T*>(values);
}
template <class T>
T* parts(std::complex<T>* values) {
  return reinterpret_cast<T*>(values);
}

template <class T>
T* align(T* scratch) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(scratch) % kCacheLine;
  return past == 0 ? scratch : scratch + (kCacheLine - past) / sizeof(T);
}

/// One block of rows as columns: samples [n][lanes] and in the same place (fft_kernels.h allows it,
/// and less cache is used) modes [n/2 + 1][re, im][lanes]; then the transform's scratch.
template <class T>
struct Block {
  Block(const FftPlan<T>& fft, T* scratch) : values(scratch), rest(scratch + columns_size(fft)) {}

  static std::size_t columns_size(const FftPlan<T>& fft) {
    return 2 * (fft.size() / 2 + 1) * fft.kernels().lanes;
  }
  static std::size_t size(const FftPlan<T>& fft) { return columns_size(fft) + fft.scratch_size(); }

  T* values;
  T* rest;
};

}  // namespace

template <class T>
struct RealFftRows<T>::Plan {
  FftPlan<T> fft;
};

template <class T>
RealFftRows<T>::RealFftRows(std::size_t n) : plan_(new Plan{FftPlan<T>(n, active_isa())}) {}
template <class T>
RealFftRows<T>::~RealFftRows() = default;
template <class T>
RealFftRows<T>::RealFftRows(RealFftRows&&) noexcept = default;
template <class T>
RealFftRows<T>& RealFftRows<T>::operator=(RealFftRows&&) noexcept = default;

template <class T>
std::size_t RealFftRows<T>::size() const {
  return plan_->fft.size();
}
template <class T>
std::size_t RealFftRows<T>::scratch_size() const {
  return Block<T>::size(plan_->fft) + kCacheLine / sizeof(T);
}

template <class T>
void RealFftRows<T>::forward(const T* rows, std::size_t count, std::complex<T>* out,
                             T* scratch) const {
  const FftPlan<T>& fft = plan_->fft;
  const FftKernels<T>& k = fft.kernels();
  const std::size_t n = size(), m = modes(), w = k.lanes;
  const Block<T> block(fft, align(scratch));
  for (std::size_t r = 0; r < count; r += w) {
    const std::size_t here = std::min(w, count - r);
    k.rows_to_columns(rows + r * n, n, here, n, block.values, w);
    fft.real_forward(block.values, w, block.values, block.values + w, 2 * w, w, m, block.rest);
    // [mode][re, im][lane] is, row by row, what std::complex wants.
    k.columns_to_rows(block.values, w, 2 * m, parts(out + r * m), 2 * m, here, T(1));
  }
}

template <class T>
void RealFftRows<T>::inverse(const std::complex<T>* in, std::size_t count, T* rows,
                             T* scratch) const {
  const FftPlan<T>& fft = plan_->fft;
  const FftKernels<T>& k = fft.kernels();
  const std::size_t n = size(), m = modes(), w = k.lanes;
  const Block<T> block(fft, align(scratch));
  for (std::size_t r = 0; r < count; r += w) {
    const std::size_t here = std::min(w, count - r);
    k.rows_to_columns(parts(in + r * m), 2 * m, here, 2 * m, block.values, w);
    fft.real_inverse(block.values, block.values + w, 2 * w, block.values, w, w, m, block.rest);
    k.columns_to_rows(block.values, w, n, rows + r * n, n, here, T(1) / static_cast<T>(n));
  }
}

template <class T>
struct RealFft2<T>::Plan {
  Plan(std::size_t nx, std::size_t ny)
      : along_x(nx, active_isa()),
        along_y(ny, active_isa()),
        modes(ny / 2 + 1),
        stride((modes + lanes() - 1) / lanes() * lanes()) {}

  std::size_t lanes() const { return along_y.kernels().lanes; }
  /// Values of one plane [nx][stride], rounded up to whole cache lines.
  std::size_t plane() const {
    constexpr std::size_t line = kCacheLine / sizeof(T);
    return (along_x.size() * stride + line - 1) / line * line;
  }

  FftPlan<T> along_x, along_y;
  std::size_t modes;
  std::size_t stride;  ///< modes and columns of zeros that fill the lanes
};

template <class T>
RealFft2<T>::RealFft2(std::size_t nx, std::size_t ny) : plan_(new Plan(nx, ny)) {}
template <class T>
RealFft2<T>::~RealFft2() = default;
template <class T>
RealFft2<T>::RealFft2(RealFft2&&) noexcept = default;
template <class T>
RealFft2<T>& RealFft2<T>::operator=(RealFft2&&) noexcept = default;

template <class T>
std::size_t RealFft2<T>::scratch_size() const {
  return 2 * plan_->plane() +
         std::max(Block<T>::size(plan_->along_y), plan_->along_x.scratch_size()) +
         kCacheLine / sizeof(T);
}

template <class T>
void RealFft2<T>::forward(const T* states, std::size_t count, std::complex<T>* out,
                          T* scratch) const {
  const Plan& plan = *plan_;
  const FftKernels<T>& k = plan.along_y.kernels();
  const std::size_t nx = plan.along_x.size(), ny = plan.along_y.size(), m = plan.modes;
  const std::size_t w = plan.lanes(), stride = plan.stride;
  T* re = align(scratch);
  T* im = re + plan.plane();
  T* rest = im + plan.plane();
  const Block<T> block(plan.along_y, rest);
  std::fill(re, rest, T(0));
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t x = 0; x < nx; x += w) {
      const std::size_t here = std::min(w, nx - x);
      k.rows_to_columns(states + (b * nx + x) * ny, ny, here, ny, block.values, w);
      plan.along_y.real_forward(block.values, w, block.values, block.values + w, 2 * w, w, m,
                                block.rest);
      k.columns_to_rows(block.values, 2 * w, m, re + x * stride, stride, here, T(1));
      k.columns_to_rows(block.values + w, 2 * w, m, im + x * stride, stride, here, T(1));
    }
    plan.along_x.forward(re, im, stride, re, im, stride, stride, rest);
    for (std::size_t x = 0; x < nx; ++x)
      k.interleave(re + x * stride, im + x * stride, m, parts(out + (b * nx + x) * m));
  }
}

template <class T>
void RealFft2<T>::inverse(const std::complex<T>* in, std::size_t count, T* states,
                          T* scratch) const {
  const Plan& plan = *plan_;
  const FftKernels<T>& k = plan.along_y.kernels();
  const std::size_t nx = plan.along_x.size(), ny = plan.along_y.size(), m = plan.modes;
  const std::size_t w = plan.lanes(), stride = plan.stride;
  const T scale = T(1) / static_cast<T>(nx * ny);
  T* re = align(scratch);
  T* im = re + plan.plane();
  T* rest = im + plan.plane();
  const Block<T> block(plan.along_y, rest);
  std::fill(re, rest, T(0));
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t x = 0; x < nx; ++x)
      k.deinterleave(parts(in + (b * nx + x) * m), m, re + x * stride, im + x * stride);
    plan.along_x.inverse(re, im, stride, re, im, stride, stride, rest);
    for (std::size_t x = 0; x < nx; x += w) {
      const std::size_t here = std::min(w, nx - x);
      k.rows_to_columns(re + x * stride, stride, here, m, block.values, 2 * w);
      k.rows_to_columns(im + x * stride, stride, here, m, block.values + w, 2 * w);
      plan.along_y.real_inverse(block.values, block.values + w, 2 * w, block.values, w, w, m,
                                block.rest);
      k.columns_to_rows(block.values, w, ny, states + (b * nx + x) * ny, ny, here, scale);
    }
  }
}

template class RealFftRows<float>;
template class RealFftRows<double>;
template class RealFft2<float>;
template class RealFft2<double>;

}  // namespace stap
