#pragma once

// The Burgers scheme as a textbook would write it: one row, plain loops, indices modulo N.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace stap::reference {

inline double minmod3(double a, double b, double c) {
  if (a > 0 && b > 0 && c > 0) return std::min({a, b, c});
  if (a < 0 && b < 0 && c < 0) return std::max({a, b, c});
  return 0.0;
}

/// The flux u^2/2 at x/t = 0 of the Riemann problem: case by case.
inline double riemann_flux(double left, double right) {
  const auto f = [](double u) { return 0.5 * u * u; };
  if (left > right) return 0.5 * (left + right) > 0 ? f(left) : f(right);  // shock and its speed
  if (left > 0) return f(left);                                            // rarefaction
  if (right < 0) return f(right);
  return 0.0;
}

/// du/dt of the semi-discrete scheme.
inline std::vector<double> burgers_rate(const std::vector<double>& u, double dx, double diffusion) {
  const std::size_t n = u.size();
  const auto at = [&](std::size_t i) { return u[i % n]; };
  const auto slope = [&](std::size_t i) {  // of cell i, times dx; i >= 1
    const double back = at(i) - at(i + n - 1), ahead = at(i + 1) - at(i);
    return minmod3(2 * back, 2 * ahead, 0.5 * (back + ahead));
  };
  std::vector<double> flux(n);  // through the face between i and i+1
  for (std::size_t i = 0; i < n; ++i)
    flux[i] = riemann_flux(at(i) + 0.5 * slope(i), at(i + 1) - 0.5 * slope(i + 1)) -
              diffusion * (at(i + 1) - at(i)) / dx;
  std::vector<double> rate(n);
  for (std::size_t i = 0; i < n; ++i) rate[i] = -(flux[i] - flux[(i + n - 1) % n]) / dx;
  return rate;
}

/// One learned step: midpoint rule with h = cfl min(dx / max|u|, dx^2 / (2D)), the last h cut.
inline std::vector<double> burgers_step(std::vector<double> u, double dx, double diffusion,
                                        double dt, double cfl) {
  double time = 0.0;
  while (time < dt) {
    double peak = 0.0;
    for (double value : u) peak = std::max(peak, std::abs(value));
    double h = std::numeric_limits<double>::infinity();
    if (peak > 0) h = std::min(h, cfl * dx / peak);
    if (diffusion > 0) h = std::min(h, cfl * dx * dx / (2 * diffusion));
    const bool last = h >= dt - time;
    if (last) h = dt - time;

    const std::vector<double> first = burgers_rate(u, dx, diffusion);
    std::vector<double> middle = u;
    for (std::size_t i = 0; i < u.size(); ++i) middle[i] += 0.5 * h * first[i];
    const std::vector<double> second = burgers_rate(middle, dx, diffusion);
    for (std::size_t i = 0; i < u.size(); ++i) u[i] += h * second[i];
    time = last ? dt : time + h;
  }
  return u;
}

}  // namespace stap::reference
