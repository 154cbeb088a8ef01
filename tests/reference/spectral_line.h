#pragma once

// KdV and KS as a textbook would write them: one row, direct Fourier sums, long double, all N wave
// numbers -N/2 .. N/2-1.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <numbers>
#include <vector>

#include "reference/dft.h"

namespace stap::reference {

using Modes = std::vector<Complex>;

struct SpectralLine {
  std::size_t points = 0;
  long double length = 0;
  /// L at wave number kappa; at Nyquist it is linear(kappa) or, without it, 0.
  std::function<Complex(long double kappa)> linear;
  bool linear_at_nyquist = false;

  long double kappa(std::size_t p) const {
    const auto j = static_cast<long double>(p), n = static_cast<long double>(points);
    return 2 * std::numbers::pi_v<long double> * (2 * p < points ? j : j - n) / length;
  }
  bool nyquist(std::size_t p) const { return 2 * p == points; }
  Complex l(std::size_t p) const {
    return nyquist(p) && !linear_at_nyquist ? Complex(0) : linear(kappa(p));
  }

  Modes to_modes(const std::vector<double>& u) const {
    Modes x(u.begin(), u.end());
    x = dft(x, -1);
    for (Complex& value : x) value /= static_cast<long double>(points);
    return x;
  }
  std::vector<long double> to_grid(const Modes& v) const {
    std::vector<long double> u;
    for (const Complex& value : dft(v, +1)) u.push_back(value.real());
    return u;
  }
  std::vector<double> to_row(const Modes& v) const {
    const std::vector<long double> u = to_grid(v);
    return std::vector<double>(u.begin(), u.end());
  }

  /// -(u^2/2)_x
  Modes nonlinear(const Modes& v) const {
    Modes squares;
    for (long double u : to_grid(v)) squares.push_back(u * u / 2);
    squares = dft(squares, -1);
    for (std::size_t p = 0; p < points; ++p)
      squares[p] *=
          nyquist(p) ? Complex(0) : Complex(0, -kappa(p)) / static_cast<long double>(points);
    return squares;
  }
  Modes rate(const Modes& v) const {
    Modes r = nonlinear(v);
    for (std::size_t p = 0; p < points; ++p) r[p] += l(p) * v[p];
    return r;
  }
};

inline SpectralLine kdv_line(std::size_t points, double length) {
  return {points, length, [](long double k) { return Complex(0, k * k * k); }, false};
}
inline SpectralLine ks_line(std::size_t points, double length, long double hyperviscosity = 1) {
  return {points, length,
          [=](long double k) { return Complex(k * k - hyperviscosity * k * k * k * k); }, true};
}

/// phi_1, phi_2, phi_3: (e^z - 1)/z, (e^z - 1 - z)/z^2, (e^z - 1 - z - z^2/2)/z^3.
struct Phi {
  Complex one, two, three;
};
inline Phi phi(Complex z) {
  if (std::abs(z) > 1) {
    const Complex one = (std::exp(z) - 1.0L) / z, two = (one - 1.0L) / z;
    return {one, two, (two - 0.5L) / z};
  }
  // sum over m of z^m / (m + j)!
  Phi sum{};
  Complex power = 1;
  long double factorial = 1;
  for (int m = 0; m < 30; ++m) {
    factorial *= m + 1;  // (m + 1)!
    sum.one += power / factorial;
    sum.two += power / (factorial * (m + 2));
    sum.three += power / (factorial * (m + 2) * (m + 3));
    power *= z;
  }
  return sum;
}

/// `steps` steps h of the exponential Runge-Kutta scheme of Cox and Matthews, by phi functions.
inline std::vector<double> etdrk4(const SpectralLine& line, const std::vector<double>& u,
                                  long double h, int steps) {
  Modes v = line.to_modes(u);
  const std::size_t n = line.points;
  for (int step = 0; step < steps; ++step) {
    const auto stage = [&](const Modes& from, const Modes& n1, const Modes& n2) {
      Modes x(n);  // exp(hL/2) from + h/2 phi_1(hL/2) (2 n1 - n2)
      for (std::size_t p = 0; p < n; ++p) {
        const Complex z = h * line.l(p) / 2.0L;
        x[p] = std::exp(z) * from[p] + h / 2 * phi(z).one * (2.0L * n1[p] - n2[p]);
      }
      return x;
    };
    const Modes nv = line.nonlinear(v);
    const Modes a = stage(v, nv, nv), na = line.nonlinear(a);
    const Modes b = stage(v, na, na), nb = line.nonlinear(b);
    const Modes c = stage(a, nb, nv), nc = line.nonlinear(c);
    for (std::size_t p = 0; p < n; ++p) {
      const Complex z = h * line.l(p);
      const Phi f = phi(z);
      v[p] = std::exp(z) * v[p] + h * ((f.one - 3.0L * f.two + 4.0L * f.three) * nv[p] +
                                       (2.0L * f.two - 4.0L * f.three) * (na[p] + nb[p]) +
                                       (4.0L * f.three - f.two) * nc[p]);
    }
  }
  return line.to_row(v);
}

/// One learned step of Dormand-Prince 5(4): the first step is a hundredth of |v| / |dv/dt| (over
/// the modes 0 .. N/2), later ones h 0.9 error^(-1/5) within 0.2 .. 5, no growth right after a
/// rejection; the last one ends at dt. `taken`: all steps, rejected ones too.
inline std::vector<double> dopri5(const SpectralLine& line, const std::vector<double>& u, double dt,
                                  double atol, double rtol, std::size_t& taken) {
  const long double a[7][6] = {
      {0, 0, 0, 0, 0, 0},
      {1.0L / 5, 0, 0, 0, 0, 0},
      {3.0L / 40, 9.0L / 40, 0, 0, 0, 0},
      {44.0L / 45, -56.0L / 15, 32.0L / 9, 0, 0, 0},
      {19372.0L / 6561, -25360.0L / 2187, 64448.0L / 6561, -212.0L / 729, 0, 0},
      {9017.0L / 3168, -355.0L / 33, 46732.0L / 5247, 49.0L / 176, -5103.0L / 18656, 0},
      {35.0L / 384, 0, 500.0L / 1113, 125.0L / 192, -2187.0L / 6784, 11.0L / 84}};
  // The embedded solution of fourth order.
  const long double fourth[7] = {
      5179.0L / 57600, 0,        7571.0L / 16695, 393.0L / 640, -92097.0L / 339200,
      187.0L / 2100,   1.0L / 40};
  const std::size_t n = line.points;
  Modes v = line.to_modes(u);
  const auto size = [&](const Modes& x) {
    long double sum = 0;
    for (std::size_t p = 0; p <= n / 2; ++p) sum += std::norm(x[p]);
    return std::sqrt(sum);
  };
  const long double rate = size(line.rate(v));
  long double time = 0, h = rate > 0 ? std::min<long double>(dt, 0.01L * size(v) / rate) : dt;
  bool after_rejection = false;
  for (taken = 0; time < dt;) {
    const bool last = h >= dt - time;
    if (last) h = dt - time;
    std::vector<Modes> k;
    Modes next;
    for (std::size_t s = 0; s < 7; ++s) {
      next = v;
      for (std::size_t j = 0; j < s; ++j)
        for (std::size_t p = 0; p < n; ++p) next[p] += h * a[s][j] * k[j][p];
      k.push_back(line.rate(next));
    }
    Modes error(n);
    for (std::size_t s = 0; s < 7; ++s)
      for (std::size_t p = 0; p < n; ++p)
        error[p] += h * ((s < 6 ? a[6][s] : 0) - fourth[s]) * k[s][p];
    const std::vector<long double> e = line.to_grid(error), before = line.to_grid(v),
                                   after = line.to_grid(next);
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const long double scale = atol + rtol * std::max(std::abs(before[i]), std::abs(after[i]));
      sum += e[i] / scale * e[i] / scale;
    }
    const long double norm = std::sqrt(sum / static_cast<long double>(n));
    const bool accepted = norm <= 1;
    ++taken;
    if (accepted) {
      v = next;
      time = last ? dt : time + h;
    }
    const long double most = accepted && !after_rejection ? 5 : 1;
    h *= norm > 0 ? std::clamp(0.9L * std::pow(norm, -0.2L), 0.2L, most) : most;
    after_rejection = !accepted;
  }
  return line.to_row(v);
}

}  // namespace stap::reference
