#include "stap/core/fft.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "core/fft_plan.h"
#include "stap/core/error.h"

namespace stap {

namespace portable {
const FftKernels<float>& fft_kernels_float();
const FftKernels<double>& fft_kernels_double();
}  // namespace portable
#if defined(STAP_X86_ISAS)
namespace avx2 {
const FftKernels<float>& fft_kernels_float();
const FftKernels<double>& fft_kernels_double();
}  // namespace avx2
namespace avx512 {
const FftKernels<float>& fft_kernels_float();
const FftKernels<double>& fft_kernels_double();
}  // namespace avx512
#endif

namespace {

struct Root {
  long double re, im;
};

/// exp(-2 pi i j/n), exact on the axes and symmetric about the diagonals: the angle is folded with
/// integers to at most an eighth of a turn, so j and its mirror images give the same digits.
Root unit_root(std::size_t j, std::size_t n) {
  j %= n;
  const bool below = 2 * j > n;  // the lower half of the mirrored circle
  if (below) j = n - j;
  const bool left = 4 * j > n;
  std::size_t eighths = left ? 4 * n - 8 * j : 8 * j;  // of n / 8 turns; now 0 <= angle <= 1/4
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const long double angle = std::numbers::pi_v<long double> / 4 *
                            static_cast<long double>(eighths) / static_cast<long double>(n);
  long double c = std::cos(angle), s = std::sin(angle);
  if (steep) std::swap(c, s);
  return {left ? -c : c, below ? s : -s};
}

template <class T>
void append(std::vector<T>& values, Root root) {
  values.push_back(static_cast<T>(root.re));
  values.push_back(static_cast<T>(root.im));
}

bool smooth(std::size_t n) {
  for (std::size_t p : {2u, 3u, 5u})
    while (n % p == 0) n /= p;
  return n == 1;
}

void check(std::size_t in_stride, std::size_t out_stride, std::size_t columns) {
  if (in_stride < columns || out_stride < columns)
    throw Error(ErrorKind::config,
                fmt::format("Fourier transform of {} columns with strides {} and {}: a stride must "
                            "be at least the number of columns",
                            columns, in_stride, out_stride));
}
void check_kept(std::size_t kept, std::size_t n) {
  if (kept < 1 || kept > n / 2 + 1)
    throw Error(ErrorKind::config,
                fmt::format("{} modes of a real Fourier transform of {} points, expected 1 to {}",
                            kept, n, n / 2 + 1));
}

}  // namespace

template <>
const FftKernels<float>& fft_kernels<float>(Isa isa) {
  if (isa == Isa::portable) return portable::fft_kernels_float();
#if defined(STAP_X86_ISAS)
  if (isa == Isa::avx2) return avx2::fft_kernels_float();
  if (isa == Isa::avx512) return avx512::fft_kernels_float();
#endif
  throw Error(ErrorKind::unavailable,
              fmt::format("this build has no Fourier kernels for {}", to_string(isa)));
}
template <>
const FftKernels<double>& fft_kernels<double>(Isa isa) {
  if (isa == Isa::portable) return portable::fft_kernels_double();
#if defined(STAP_X86_ISAS)
  if (isa == Isa::avx2) return avx2::fft_kernels_double();
  if (isa == Isa::avx512) return avx512::fft_kernels_double();
#endif
  throw Error(ErrorKind::unavailable,
              fmt::format("this build has no Fourier kernels for {}", to_string(isa)));
}

std::vector<std::size_t> fft_radices(std::size_t n) {
  std::vector<std::size_t> radices;
  if (!smooth(n)) return radices;
  for (std::size_t p : {3u, 5u})
    for (; n % p == 0; n /= p) radices.push_back(p);
  // Fours, and for odd powers of two one eight, last because that stage has no twiddles, which
  // would not fit in registers beside its data: measured to be the fastest.
  const std::size_t twos = static_cast<std::size_t>(std::countr_zero(n));
  const bool eight = twos % 2 == 1 && twos > 1;
  radices.insert(radices.end(), (twos - (eight ? 3 : 0)) / 2, 4);
  if (eight) radices.push_back(8);
  if (twos == 1) radices.push_back(2);
  return radices;
}

template <class T>
FftTables<T>::FftTables(std::size_t n) : plan{} {
  plan.n = n;
  plan.m = n;
  if (!smooth(n)) {
    plan.m = 2 * n - 1;
    while (!smooth(plan.m)) ++plan.m;
  }
  std::size_t span = 1;
  for (std::size_t radix : fft_radices(plan.m)) {
    const std::size_t length = plan.m / span, count = length / radix;
    plan.stages[plan.stage_count++] = {radix, span, count, twiddles_.size()};
    for (std::size_t p = 1; p < count; ++p)
      for (std::size_t k = 1; k < radix; ++k) append(twiddles_, unit_root(p * k, length));
    span *= radix;
  }
  plan.twiddles = twiddles_.data();
  if (plan.m == n) return;

  const std::size_t m = plan.m;
  std::vector<double> re(m, 0.0), im(m, 0.0);
  for (std::size_t j = 0, square = 0; j < n; ++j) {  // square = j^2 mod 2n
    const Root root = unit_root(square, 2 * n);
    append(chirp_, root);
    re[j] = static_cast<double>(root.re);
    im[j] = static_cast<double>(-root.im);
    if (j > 0) {
      re[m - j] = re[j];
      im[m - j] = im[j];
    }
    square = (square + 2 * j + 1) % (2 * n);
  }
  const Fft<double> transform(m);
  std::vector<double> scratch(transform.scratch_size());
  transform.forward(re.data(), im.data(), 1, re.data(), im.data(), 1, 1, scratch.data());
  for (std::size_t k = 0; k < m; ++k)
    append(chirp_spectrum_,
           {re[k] / static_cast<long double>(m), im[k] / static_cast<long double>(m)});
  plan.chirp = chirp_.data();
  plan.chirp_spectrum = chirp_spectrum_.data();
}

template <class T>
FftPlan<T>::FftPlan(std::size_t n, Isa isa)
    : kernels_(&fft_kernels<T>(isa)),
      complex_(n > 0 ? n
                     : throw Error(ErrorKind::config,
                                   "Fourier transform of 0 points, expected at least 1")),
      half_(n % 2 == 0 ? std::make_unique<const FftTables<T>>(n / 2) : nullptr),
      real_{} {
  if (half_ != nullptr) {
    for (std::size_t k = 0; k <= n / 4; ++k) {
      const Root w = unit_root(k, n);
      append(forward_roots_, {w.im / 2, -w.re / 2});
      append(inverse_roots_, {w.im, w.re});
    }
  }
  real_ = {n, half_ != nullptr ? &half_->plan : &complex_.plan, forward_roots_.data(),
           inverse_roots_.data()};
}

template <class T>
void FftPlan<T>::forward(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re,
                         T* out_im, std::size_t out_stride, std::size_t columns, T* scratch) const {
  check(in_stride, out_stride, columns);
  kernels_->forward(complex_.plan, in_re, in_im, in_stride, out_re, out_im, out_stride, columns,
                    scratch);
}

template <class T>
void FftPlan<T>::inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re,
                         T* out_im, std::size_t out_stride, std::size_t columns, T* scratch) const {
  // Real and imaginary part swapped on both sides conjugate the transform.
  forward(in_im, in_re, in_stride, out_im, out_re, out_stride, columns, scratch);
}

template <class T>
void FftPlan<T>::real_forward(const T* in, std::size_t in_stride, T* out_re, T* out_im,
                              std::size_t out_stride, std::size_t columns, std::size_t kept,
                              T* scratch) const {
  check(in_stride, out_stride, columns);
  check_kept(kept, size());
  kernels_->real_forward(real_, in, in_stride, out_re, out_im, out_stride, columns, kept, scratch);
}

template <class T>
void FftPlan<T>::real_inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out,
                              std::size_t out_stride, std::size_t columns, std::size_t kept,
                              T* scratch) const {
  check(in_stride, out_stride, columns);
  check_kept(kept, size());
  kernels_->real_inverse(real_, in_re, in_im, in_stride, out, out_stride, columns, kept, scratch);
}

template <class T>
struct Fft<T>::Plan : FftPlan<T> {
  using FftPlan<T>::FftPlan;
};

template <class T>
Fft<T>::Fft(std::size_t n) : plan_(std::make_unique<const Plan>(n, active_isa())) {}
template <class T>
Fft<T>::~Fft() = default;
template <class T>
Fft<T>::Fft(Fft&&) noexcept = default;
template <class T>
Fft<T>& Fft<T>::operator=(Fft&&) noexcept = default;

template <class T>
std::size_t Fft<T>::size() const {
  return plan_->size();
}
template <class T>
std::size_t Fft<T>::scratch_size() const {
  return plan_->scratch_size();
}
template <class T>
void Fft<T>::forward(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re, T* out_im,
                     std::size_t out_stride, std::size_t columns, T* scratch) const {
  plan_->forward(in_re, in_im, in_stride, out_re, out_im, out_stride, columns, scratch);
}
template <class T>
void Fft<T>::inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re, T* out_im,
                     std::size_t out_stride, std::size_t columns, T* scratch) const {
  plan_->inverse(in_re, in_im, in_stride, out_re, out_im, out_stride, columns, scratch);
}
template <class T>
void Fft<T>::real_forward(const T* in, std::size_t in_stride, T* out_re, T* out_im,
                          std::size_t out_stride, std::size_t columns, std::size_t kept,
                          T* scratch) const {
  plan_->real_forward(in, in_stride, out_re, out_im, out_stride, columns, kept, scratch);
}
template <class T>
void Fft<T>::real_inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out,
                          std::size_t out_stride, std::size_t columns, std::size_t kept,
                          T* scratch) const {
  plan_->real_inverse(in_re, in_im, in_stride, out, out_stride, columns, kept, scratch);
}

template struct FftTables<float>;
template struct FftTables<double>;
template class FftPlan<float>;
template class FftPlan<double>;
template class Fft<float>;
template class Fft<double>;

}  // namespace stap
