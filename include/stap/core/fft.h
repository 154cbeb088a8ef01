#pragma once

#include <cstddef>
#include <memory>

namespace stap {

/// Discrete Fourier transforms of n points along one axis, applied to many columns at once so that
/// the columns fill the SIMD lanes. T is float or double. Any n >= 1: radix 2, 3, 4, 5 and
/// Bluestein for what is left.
///
/// A column c of a plane p with stride s is p[j * s + c], j = 0 .. n-1. Complex data are two
/// planes, real and imaginary part. Nothing is normalised: inverse(forward(x)) = n x. A column's
/// result does not depend, bit for bit, on how many other columns there are or where it stands. A
/// plan is immutable and may be used by many threads, each with scratch of its own (scratch_size()
/// values of T, no alignment needed); calls do not allocate.
template <class T>
class Fft {
 public:
  explicit Fft(std::size_t n);
  ~Fft();
  Fft(Fft&&) noexcept;
  Fft& operator=(Fft&&) noexcept;

  std::size_t size() const;
  std::size_t scratch_size() const;

  /// X_k = sum_j x_j exp(-2 pi i jk/n). Output planes may be the input planes (same stride) but
  /// must not overlap them otherwise. `inverse` has exp(+...).
  void forward(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re, T* out_im,
               std::size_t out_stride, std::size_t columns, T* scratch) const;
  void inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re, T* out_im,
               std::size_t out_stride, std::size_t columns, T* scratch) const;

  /// Modes 0 .. kept-1 of real columns; 1 <= kept <= n/2 + 1.
  void real_forward(const T* in, std::size_t in_stride, T* out_re, T* out_im,
                    std::size_t out_stride, std::size_t columns, std::size_t kept,
                    T* scratch) const;
  /// The real columns whose modes 0 .. kept-1 are given and whose other modes are 0 (their mirror
  /// images understood). Imaginary parts of mode 0 and, for even n, of mode n/2 are ignored.
  void real_inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out,
                    std::size_t out_stride, std::size_t columns, std::size_t kept,
                    T* scratch) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

extern template class Fft<float>;
extern template class Fft<double>;

}  // namespace stap
