#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace stap::test {

/// The exponent p of error ~ h^p: slope of the least-squares line through (log h, log error).
inline double measured_order(std::span<const double> h, std::span<const double> error) {
  const double n = static_cast<double>(h.size());
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < h.size(); ++i) {
    mean_x += std::log(h[i]) / n;
    mean_y += std::log(error[i]) / n;
  }
  double xy = 0, xx = 0;
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double x = std::log(h[i]) - mean_x;
    xy += x * (std::log(error[i]) - mean_y);
    xx += x * x;
  }
  return xy / xx;
}

}  // namespace stap::test
