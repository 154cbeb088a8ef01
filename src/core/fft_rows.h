#pragma once

#include <complex>
#include <cstddef>
#include <memory>

namespace stap {

/// Real Fourier transforms of states kept as contiguous rows; T is float or double.
/// Blocks of rows are turned into columns so that they fill the SIMD lanes (stap/core/fft.h). A
/// row's result does not depend, bit for bit, on the other rows. Plans are immutable and may be
/// shared by threads, so they own no scratch: each thread passes its own (scratch_size() values of
/// T, no alignment needed). Calls do not allocate. Output must not overlap input.
template <class T>
class RealFftRows {
 public:
  explicit RealFftRows(std::size_t n);
  ~RealFftRows();
  RealFftRows(RealFftRows&&) noexcept;
  RealFftRows& operator=(RealFftRows&&) noexcept;

  std::size_t size() const;
  std::size_t modes() const { return size() / 2 + 1; }
  std::size_t scratch_size() const;

  /// rows [count][n] -> modes [count][n/2 + 1], X_k = sum_j x_j exp(-2 pi i jk/n).
  void forward(const T* rows, std::size_t count, std::complex<T>* modes, T* scratch) const;
  /// modes -> rows, sum_k X_k exp(+2 pi i jk/n) / n over all n modes, those beyond n/2 being the
  /// mirror images. Imaginary parts of mode 0 and, for even n, n/2 are ignored.
  void inverse(const std::complex<T>* modes, std::size_t count, T* rows, T* scratch) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

/// Real Fourier transforms of states [count][nx][ny] <-> modes [count][nx][ny/2 + 1], with scratch
/// of the caller's (scratch_size() values of T) and without allocation. `inverse` is the complex
/// inverse along x, then the real one along y (imaginary parts that are left at ky = 0 and, for
/// even ny, ky = ny/2 are ignored), divided by nx ny. Output must not overlap input.
template <class T>
class RealFft2 {
 public:
  RealFft2(std::size_t nx, std::size_t ny);
  ~RealFft2();
  RealFft2(RealFft2&&) noexcept;
  RealFft2& operator=(RealFft2&&) noexcept;

  std::size_t scratch_size() const;

  void forward(const T* states, std::size_t count, std::complex<T>* modes, T* scratch) const;
  void inverse(const std::complex<T>* modes, std::size_t count, T* states, T* scratch) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

extern template class RealFftRows<float>;
extern template class RealFftRows<double>;
extern template class RealFft2<float>;
extern template class RealFft2<double>;

}  // namespace stap
