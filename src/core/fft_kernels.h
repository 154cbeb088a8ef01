// What the Fourier kernels of one instruction set need and offer: plain data and functions only, so
// that the kernel files (fft_kernels.isa.cpp) share nothing else with the rest of the library.
#pragma once

#include <cstddef>

namespace stap {

/// One pass of a Stockham (autosorting) transform. With s = span and m = count it reads
/// x[q + s(p + m k)], k = 0 .. radix-1, and writes, for q < s and p < m,
/// y[q + s(radix p + k)] = exp(-2 pi i pk / (radix m)) DFT_radix(x)_k.
struct FftStage {
  std::size_t radix;
  std::size_t span;
  std::size_t count;
  std::size_t twiddles;  ///< where its [count-1][radix-1][re, im] begin; p = 0 needs none
};

inline constexpr std::size_t kFftMaxStages = 64;

template <class T>
struct FftComplexPlan {
  std::size_t n;  ///< of the transform
  std::size_t m;  ///< of the stages: n, or Bluestein's convolution length
  std::size_t stage_count;
  FftStage stages[kFftMaxStages];
  const T* twiddles;
  const T* chirp;           ///< [n][re, im] exp(-pi i j^2 / n), or null: then m == n
  const T* chirp_spectrum;  ///< [m][re, im] of the conjugate chirp, divided by m
};

/// Even n: the complex transform of n/2 points (even samples real, odd ones imaginary part) and the
/// roots that join its modes k and n/2 - k, for k = 0 .. n/4. Odd n: the complex one of n points.
template <class T>
struct FftRealPlan {
  std::size_t n;
  const FftComplexPlan<T>* half;
  const T* forward_roots;  ///< [n/4 + 1][re, im] -i/2 exp(-2 pi i k/n)
  const T* inverse_roots;  ///< [n/4 + 1][re, im] i exp(2 pi i k/n)
};

/// Planes, strides and columns as in stap/core/fft.h. Scratch of any alignment, `scratch()` values.
/// With columns <= lanes the real transforms read all input before they write, so the output may
/// lie over it.
template <class T>
struct FftKernels {
  std::size_t lanes;
  std::size_t (*scratch)(const FftComplexPlan<T>& complex, const FftRealPlan<T>& real);
  void (*forward)(const FftComplexPlan<T>& plan, const T* in_re, const T* in_im,
                  std::size_t in_stride, T* out_re, T* out_im, std::size_t out_stride,
                  std::size_t columns, T* scratch);
  void (*real_forward)(const FftRealPlan<T>& plan, const T* in, std::size_t in_stride, T* out_re,
                       T* out_im, std::size_t out_stride, std::size_t columns, std::size_t kept,
                       T* scratch);
  void (*real_inverse)(const FftRealPlan<T>& plan, const T* in_re, const T* in_im,
                       std::size_t in_stride, T* out, std::size_t out_stride, std::size_t columns,
                       std::size_t kept, T* scratch);
  /// rows[r * row_stride + j] -> columns[j * column_stride + r] for r < rows <= lanes, j < n; the
  /// lanes from `rows` on repeat row 0.
  void (*rows_to_columns)(const T* in, std::size_t row_stride, std::size_t rows, std::size_t n,
                          T* columns, std::size_t column_stride);
  /// The way back, times `scale`; lanes from `rows` on are dropped.
  void (*columns_to_rows)(const T* columns, std::size_t column_stride, std::size_t n, T* out,
                          std::size_t row_stride, std::size_t rows, T scale);
  /// re[j], im[j] <-> pairs[2j], pairs[2j + 1], j < n.
  void (*interleave)(const T* re, const T* im, std::size_t n, T* pairs);
  void (*deinterleave)(const T* pairs, std::size_t n, T* re, T* im);
};

}  // namespace stap
