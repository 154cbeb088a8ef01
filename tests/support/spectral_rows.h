#pragma once

// Rows and norms for the tests of the solvers on an interval whose values lie at x_i = i dx.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "stap/core/rng.h"
#include "support/modes.h"

namespace stap::test {

/// f at x_i = i dx.
template <class Function>
std::vector<double> at_nodes(std::size_t points, double length, Function f) {
  std::vector<double> values(points);
  for (std::size_t i = 0; i < points; ++i)
    values[i] = f(static_cast<double>(i) * length / static_cast<double>(points));
  return values;
}

/// A few smooth waves, max|u| about 1, and a mean.
inline std::vector<double> random_waves(std::size_t points, std::uint64_t seed) {
  const Rng rng(seed);
  return at_nodes(points, 1.0, [&](double x) {
    double u = rng.uniform(0, -0.5, 0.5);
    for (std::uint64_t k = 1; k < 4; ++k)
      u += rng.uniform(k, -0.6, 0.6) *
           std::sin(2 * std::numbers::pi * (static_cast<double>(k) * x + rng.uniform(10 + k)));
    return u;
  });
}

inline double mean(std::span<const double> u) {
  double sum = 0;
  for (double value : u) sum += value;
  return sum / static_cast<double>(u.size());
}

inline double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// |a - b| / |b|
inline double relative_error(std::span<const double> a, std::span<const double> b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

/// The order-th derivative of the trigonometric polynomial through u.
inline std::vector<double> derivative(std::span<const double> u, double length, int order) {
  const std::size_t n = u.size();
  std::vector<double> result(n, 0.0);
  for (std::size_t k = 1; k < n / 2; ++k) {
    const double kappa = 2 * std::numbers::pi * static_cast<double>(k) / length;
    const std::complex<double> v =
        2.0 * mode(u, k) * std::pow(std::complex<double>(0, kappa), order);
    for (std::size_t j = 0; j < n; ++j)
      result[j] += (v * std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                            static_cast<double>(n)))
                       .real();
  }
  return result;
}

}  // namespace stap::test
