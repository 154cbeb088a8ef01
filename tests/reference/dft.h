// The discrete Fourier transform as it is written in books: the slow twin of stap/core/fft.h.
#pragma once

#include <complex>
#include <cstddef>
#include <numbers>
#include <vector>

namespace stap::reference {

using Complex = std::complex<long double>;

/// sign = -1: X_k = sum_j x_j exp(-2 pi i jk/n); sign = +1: the inverse, not normalised. The
/// product jk is reduced mod n in integers, so the angle is never large.
inline std::vector<Complex> dft(const std::vector<Complex>& x, int sign) {
  const std::size_t n = x.size();
  std::vector<Complex> roots(n);
  for (std::size_t j = 0; j < n; ++j)
    roots[j] =
        std::polar(1.0L, static_cast<long double>(sign) * 2 * std::numbers::pi_v<long double> *
                             static_cast<long double>(j) / static_cast<long double>(n));
  std::vector<Complex> result(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j) result[k] += x[j] * roots[j * k % n];
  return result;
}

/// Real samples of the modes 0 .. kept-1 (others 0), not normalised; imaginary parts of mode 0 and,
/// for even n, n/2 do not count.
inline std::vector<long double> real_inverse(const std::vector<Complex>& modes, std::size_t n) {
  std::vector<Complex> full(n);
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const bool lone = k == 0 || 2 * k == n;
    full[k] = lone ? Complex(modes[k].real()) : modes[k];
    if (!lone) full[n - k] = std::conj(modes[k]);
  }
  std::vector<long double> result;
  for (const Complex& value : dft(full, +1)) result.push_back(value.real());
  return result;
}

}  // namespace stap::reference
