// The insides of Fft (stap/core/fft.h), for a chosen instruction set: what tests compare and what
// the row transforms build on.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/fft_kernels.h"
#include "stap/core/isa.h"

namespace stap {

/// The kernels of one set. Throws Error(unavailable) for a set this build does not have; whether
/// the CPU has it is the caller's business (every set up to active_isa() is safe).
template <class T>
const FftKernels<T>& fft_kernels(Isa isa);

/// Radices of the stages of n points, first stage first; empty for n = 1 and, with other prime
/// factors than 2, 3 and 5, for any n that is not smooth.
std::vector<std::size_t> fft_radices(std::size_t n);

/// Tables of a complex transform; `plan` points into them.
template <class T>
struct FftTables {
  explicit FftTables(std::size_t n);
  FftTables(const FftTables&) = delete;

  FftComplexPlan<T> plan;

 private:
  std::vector<T> twiddles_, chirp_, chirp_spectrum_;
};

template <class T>
class FftPlan {
 public:
  FftPlan(std::size_t n, Isa isa);

  std::size_t size() const { return complex_.plan.n; }
  std::size_t scratch_size() const { return kernels_->scratch(complex_.plan, real_); }
  const FftKernels<T>& kernels() const { return *kernels_; }
  /// For kernels that call kernels() themselves, as lane kernels do.
  const FftComplexPlan<T>& complex() const { return complex_.plan; }
  const FftRealPlan<T>& real() const { return real_; }

  // As in stap/core/fft.h.
  void forward(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re, T* out_im,
               std::size_t out_stride, std::size_t columns, T* scratch) const;
  void inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out_re, T* out_im,
               std::size_t out_stride, std::size_t columns, T* scratch) const;
  void real_forward(const T* in, std::size_t in_stride, T* out_re, T* out_im,
                    std::size_t out_stride, std::size_t columns, std::size_t kept,
                    T* scratch) const;
  void real_inverse(const T* in_re, const T* in_im, std::size_t in_stride, T* out,
                    std::size_t out_stride, std::size_t columns, std::size_t kept,
                    T* scratch) const;

 private:
  const FftKernels<T>* kernels_;
  FftTables<T> complex_;
  std::unique_ptr<const FftTables<T>> half_;  ///< even n only
  std::vector<T> forward_roots_, inverse_roots_;
  FftRealPlan<T> real_;
};

extern template struct FftTables<float>;
extern template struct FftTables<double>;
extern template class FftPlan<float>;
extern template class FftPlan<double>;

}  // namespace stap
