#pragma once

// Eigenvalues by cyclic Jacobi rotations of the whole matrix: slow, and hard to get wrong.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace stap::reference {

/// Of a symmetric matrix [n, n], largest first.
inline std::vector<double> jacobi_eigenvalues(std::vector<double> a, std::size_t n) {
  for (int sweep = 0; sweep < 60; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const double angle = 0.5 * std::atan2(2 * a[p * n + q], a[p * n + p] - a[q * n + q]);
        const double c = std::cos(angle), s = std::sin(angle);
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x + s * y;
          a[k * n + q] = c * y - s * x;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[p * n + k], y = a[q * n + k];
          a[p * n + k] = c * x + s * y;
          a[q * n + k] = c * y - s * x;
        }
      }
  std::vector<double> values(n);
  for (std::size_t k = 0; k < n; ++k) values[k] = a[k * n + k];
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

}  // namespace stap::reference
