#pragma once

// Fourier modes of one row by direct sums.

#include <complex>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace stap::test {

/// (1/N) sum_j u_j exp(-2 pi i jk/N): the amplitude with which exp(2 pi i k x / X) is in u.
inline std::complex<double> mode(std::span<const double> u, std::size_t k) {
  const double n = static_cast<double>(u.size());
  std::complex<double> sum = 0;
  for (std::size_t j = 0; j < u.size(); ++j)
    sum += u[j] *
           std::polar(1.0 / n, -2 * std::numbers::pi * static_cast<double>(j * k % u.size()) / n);
  return sum;
}

/// The part of u in the modes 0 .. highest, highest < N/2.
inline std::vector<double> low_modes(std::span<const double> u, std::size_t highest) {
  const std::size_t n = u.size();
  std::vector<std::complex<double>> roots(n);
  for (std::size_t j = 0; j < n; ++j)
    roots[j] =
        std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n));
  std::vector<double> kept(n, 0.0);
  for (std::size_t k = 0; k <= highest; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += u[j] * std::conj(roots[j * k % n]);
    sum *= (k == 0 ? 1.0 : 2.0) / static_cast<double>(n);
    for (std::size_t j = 0; j < n; ++j) kept[j] += (sum * roots[j * k % n]).real();
  }
  return kept;
}

}  // namespace stap::test
