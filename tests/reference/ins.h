#pragma once

// The Navier-Stokes schemes as the equations are written: one row, all complex modes, direct
// Fourier sums, fixed internal steps.

#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <numbers>
#include <vector>

#include "reference/dft.h"
#include "stap/pde/ins.h"

namespace stap::reference {

/// Fourier coefficients [kx][ky] of values [x][y] (sign -1), or values of coefficients (sign +1).
inline std::vector<Complex> transform2(std::vector<Complex> a, std::size_t nx, std::size_t ny,
                                       int sign) {
  for (std::size_t i = 0; i < nx; ++i) {
    std::vector<Complex> line(ny);
    for (std::size_t j = 0; j < ny; ++j) line[j] = a[i * ny + j];
    line = dft(line, sign);
    for (std::size_t j = 0; j < ny; ++j) a[i * ny + j] = line[j];
  }
  for (std::size_t j = 0; j < ny; ++j) {
    std::vector<Complex> line(nx);
    for (std::size_t i = 0; i < nx; ++i) line[i] = a[i * ny + j];
    line = dft(line, sign);
    for (std::size_t i = 0; i < nx; ++i) a[i * ny + j] = line[i];
  }
  if (sign < 0)
    for (Complex& value : a) value /= static_cast<long double>(nx * ny);
  return a;
}

class Ins {
 public:
  using Modes = std::vector<Complex>;
  explicit Ins(const InsOptions& options)
      : o_(options), nx_(options.points[0]), ny_(options.points[1]) {}

  /// `steps` steps of h from time t.
  std::vector<double> crank_nicolson(const std::vector<double>& w, double t, double h,
                                     int steps) const {
    Modes modes = analyse(w);
    for (int n = 0; n < steps; ++n) {
      const Modes right = rate(modes, t + n * h);
      each([&](std::size_t at, long double kx, long double ky) {
        const long double half = h * viscosity() * square(kx, ky) / 2;
        modes[at] = ((1 - half) * modes[at] + static_cast<long double>(h) * right[at]) / (1 + half);
      });
    }
    return synthesise(modes);
  }

  /// The same by Runge-Kutta for exp(kappa^2 viscosity t) w.
  std::vector<double> ifrk4(const std::vector<double>& w, double t, double h, int steps) const {
    Modes modes = analyse(w);
    const long double lh = h;
    for (int n = 0; n < steps; ++n) {
      const double now = t + n * h;
      const Modes k1 = rate(modes, now);
      const Modes k2 = rate(decayed(sum(modes, lh / 2, k1), h / 2), now + h / 2);
      const Modes k3 = rate(sum(decayed(modes, h / 2), lh / 2, k2), now + h / 2);
      const Modes k4 = rate(sum(decayed(modes, h), lh, decayed(k3, h / 2)), now + h);
      Modes next = sum(decayed(modes, h), lh / 6, decayed(k1, h));
      next = sum(next, lh / 3, decayed(k2, h / 2));
      next = sum(next, lh / 3, decayed(k3, h / 2));
      modes = sum(next, lh / 6, k4);
    }
    return synthesise(modes);
  }

  /// mean(|v|^2) / 2 and mean(w^2) / 2.
  double energy(const std::vector<double>& w) const {
    const Modes modes = analyse(w);
    long double total = 0;
    each([&](std::size_t at, long double kx, long double ky) {
      if (square(kx, ky) > 0) total += std::norm(modes[at]) / square(kx, ky) / 2;
    });
    return static_cast<double>(total);
  }
  double enstrophy(const std::vector<double>& w) const {
    long double total = 0;
    for (double value : w) total += static_cast<long double>(value) * value / 2;
    return static_cast<double>(total / static_cast<long double>(w.size()));
  }

 private:
  long double viscosity() const { return o_.viscosity.value; }
  static long double signed_index(std::size_t i, std::size_t n) {
    return static_cast<long double>(i) - (2 * i > n ? static_cast<long double>(n) : 0);
  }
  template <class Function>
  void each(Function f) const {
    for (std::size_t i = 0; i < nx_; ++i)
      for (std::size_t j = 0; j < ny_; ++j)
        f(i * ny_ + j, signed_index(i, nx_), signed_index(j, ny_));
  }
  long double square(long double kx, long double ky) const {
    const long double turn = 2 * std::numbers::pi_v<long double>;
    const long double x = turn * kx / o_.lengths[0], y = turn * ky / o_.lengths[1];
    return x * x + y * y;
  }

  Modes analyse(const std::vector<double>& w) const {
    return transform2(Modes(w.begin(), w.end()), nx_, ny_, -1);
  }
  std::vector<double> synthesise(const Modes& modes) const {
    std::vector<double> w;
    for (const Complex& value : transform2(modes, nx_, ny_, +1))
      w.push_back(static_cast<double>(value.real()));
    return w;
  }
  static Modes sum(Modes a, long double factor, const Modes& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
    return a;
  }
  Modes decayed(Modes a, double time) const {
    each([&](std::size_t at, long double kx, long double ky) {
      a[at] *= std::exp(-viscosity() * square(kx, ky) * time);
    });
    return a;
  }

  /// f - P F[(V + v) . grad w]
  Modes rate(const Modes& w, double t) const {
    const long double turn = 2 * std::numbers::pi_v<long double>;
    Modes u(w.size()), v(w.size()), wx(w.size()), wy(w.size());
    each([&](std::size_t at, long double kx, long double ky) {
      const bool last_x = 2 * std::abs(kx) == static_cast<long double>(nx_);
      const bool last_y = 2 * std::abs(ky) == static_cast<long double>(ny_);
      const Complex dx(0, last_x ? 0 : turn * kx / o_.lengths[0]);
      const Complex dy(0, last_y ? 0 : turn * ky / o_.lengths[1]);
      const Complex psi = square(kx, ky) > 0 ? w[at] / square(kx, ky) : Complex(0);
      u[at] = dy * psi;
      v[at] = -dx * psi;
      wx[at] = dx * w[at];
      wy[at] = dy * w[at];
    });
    for (Modes* field : {&u, &v, &wx, &wy}) *field = transform2(*field, nx_, ny_, +1);
    Modes product(w.size()), force(w.size());
    for (std::size_t i = 0; i < nx_; ++i)
      for (std::size_t j = 0; j < ny_; ++j) {
        const std::size_t at = i * ny_ + j;
        product[at] = (o_.mean_velocity[0] + u[at].real()) * wx[at].real() +
                      (o_.mean_velocity[1] + v[at].real()) * wy[at].real();
        const long double x = static_cast<long double>(i) / static_cast<long double>(nx_);
        const long double y = static_cast<long double>(j) / static_cast<long double>(ny_);
        const long double p = turn * (x + y + o_.forcing_rate * std::fmax(t, 0.0));
        force[at] = o_.forcing.value * (std::sin(p) + std::cos(p));
      }
    product = transform2(product, nx_, ny_, -1);
    force = transform2(force, nx_, ny_, -1);
    each([&](std::size_t at, long double kx, long double ky) {
      const bool kept = 3 * std::abs(kx) <= static_cast<long double>(nx_) &&
                        3 * std::abs(ky) <= static_cast<long double>(ny_);
      if (kept) force[at] -= product[at];
    });
    return force;
  }

  InsOptions o_;
  std::size_t nx_, ny_;
};

}  // namespace stap::reference
