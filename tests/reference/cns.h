#pragma once

// The compressible Navier-Stokes scheme as a textbook would write it: one row, plain loops,
// conserved variables, HLLC case by case, indices modulo the number of cells.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace stap::reference {

struct CnsProblem {
  std::array<std::size_t, 2> points;
  std::array<double, 2> dx;
  double gamma, shear, bulk;
  bool kinematic;
  double floor = 1e-4;
};

struct Gas {
  double rho = 0;
  std::array<double, 2> v = {0, 0};
  double p = 0;
};
using Conserved = std::array<double, 4>;  // mass, momentum x, momentum y, energy
using GasField = std::vector<Gas>;        // [x][y]

inline Conserved conserved(const Gas& g, double gamma) {
  const double v2 = g.v[0] * g.v[0] + g.v[1] * g.v[1];
  return {g.rho, g.rho * g.v[0], g.rho * g.v[1], g.p / (gamma - 1) + 0.5 * g.rho * v2};
}
inline Gas primitive(const Conserved& u, double gamma, double floor) {
  if (!(u[0] > 0)) throw std::runtime_error("density is not positive");
  const double p = (gamma - 1) * (u[3] - 0.5 * (u[1] * u[1] + u[2] * u[2]) / u[0]);
  return {u[0], {u[1] / u[0], u[2] / u[0]}, std::max(p, floor)};
}

inline double mc_slope(double back, double ahead) {
  const double a = 2 * back, b = 2 * ahead, c = 0.5 * (back + ahead);
  if (a > 0 && b > 0) return std::min({a, b, c});
  if (a < 0 && b < 0) return std::max({a, b, c});
  return 0.0;
}

inline Conserved euler_flux(const Gas& g, double gamma, std::size_t axis) {
  const Conserved u = conserved(g, gamma);
  Conserved f;
  for (std::size_t k = 0; k < 4; ++k) f[k] = u[k] * g.v[axis];
  f[1 + axis] += g.p;
  f[3] += g.p * g.v[axis];
  return f;
}

inline Conserved hllc_flux(const Gas& l, const Gas& r, double gamma, std::size_t axis) {
  const double ul = l.v[axis], ur = r.v[axis];
  const double cl = std::sqrt(gamma * l.p / l.rho), cr = std::sqrt(gamma * r.p / r.rho);
  // Roe averages of velocity and enthalpy, of the motion along the axis alone.
  const double wl = std::sqrt(l.rho), wr = std::sqrt(r.rho);
  const double hl = cl * cl / (gamma - 1) + 0.5 * ul * ul;
  const double hr = cr * cr / (gamma - 1) + 0.5 * ur * ur;
  const double u = (wl * ul + wr * ur) / (wl + wr), h = (wl * hl + wr * hr) / (wl + wr);
  const double c = std::sqrt((gamma - 1) * (h - 0.5 * u * u));
  const double sl = std::min(ul - cl, u - c), sr = std::max(ur + cr, u + c);
  if (sl >= 0) return euler_flux(l, gamma, axis);
  if (sr <= 0) return euler_flux(r, gamma, axis);
  const double star = (r.p - l.p + l.rho * ul * (sl - ul) - r.rho * ur * (sr - ur)) /
                      (l.rho * (sl - ul) - r.rho * (sr - ur));
  const Gas& k = star >= 0 ? l : r;
  const double s = star >= 0 ? sl : sr, uk = k.v[axis];
  const Conserved outside = conserved(k, gamma);
  const double rho = k.rho * (s - uk) / (s - star);
  Conserved inside;
  inside[0] = rho;
  inside[1 + axis] = rho * star;
  inside[2 - axis] = rho * k.v[1 - axis];
  inside[3] = rho * (outside[3] / k.rho + (star - uk) * (star + k.p / (k.rho * (s - uk))));
  Conserved f = euler_flux(k, gamma, axis);
  for (std::size_t m = 0; m < 4; ++m) f[m] += s * (inside[m] - outside[m]);
  return f;
}

class CnsTwin {
 public:
  CnsTwin(const CnsProblem& problem, const GasField& field) : q_(problem), w_(field) {}

  /// One learned step of the midpoint rule with the solver's h, the last one cut.
  void advance(double dt, double cfl) {
    for (Gas& g : w_) g.p = std::max(g.p, q_.floor);
    double time = 0;
    while (time < dt) {
      double h = cfl / fastest();
      const bool last = h >= dt - time;
      if (last) h = dt - time;
      const GasField old = w_;
      w_ = moved(old, 0.5 * h, rate());
      w_ = moved(old, h, rate());
      time = last ? dt : time + h;
    }
  }
  const GasField& field() const { return w_; }

 private:
  const Gas& at(std::size_t i, std::size_t j) const {
    return w_[(i % q_.points[0]) * q_.points[1] + j % q_.points[1]];
  }
  // `by` cells further along an axis (may be negative).
  const Gas& beside(std::size_t i, std::size_t j, std::size_t axis, int by) const {
    const std::size_t n = q_.points[axis];
    const std::size_t step = static_cast<std::size_t>(static_cast<int>(2 * n) + by);
    return axis == 0 ? at(i + step, j) : at(i, j + step);
  }

  double fastest() const {
    double result = 0;
    for (std::size_t i = 0; i < q_.points[0]; ++i)
      for (std::size_t j = 0; j < q_.points[1]; ++j) {
        const Gas& g = at(i, j);
        double sum = 0;
        for (std::size_t axis = 0; axis < 2; ++axis) {
          const double dx = q_.dx[axis], nu = 4 * q_.shear / 3 + q_.bulk;
          const double before = beside(i, j, axis, -1).rho, behind = beside(i, j, axis, 1).rho;
          sum += (std::abs(g.v[axis]) + std::sqrt(q_.gamma * g.p / g.rho)) / dx;
          const double faces = q_.kinematic ? 0.5 * (before + g.rho) + 0.5 * (g.rho + behind) : 2.0;
          sum += nu / g.rho * faces / (dx * dx);
        }
        result = std::max(result, sum);
      }
    return result;
  }

  // The state at a face of the cell: side +1 or -1 along the axis.
  Gas reconstructed(std::size_t i, std::size_t j, std::size_t axis, double side) const {
    const Gas &b = beside(i, j, axis, -1), &g = beside(i, j, axis, 0), &a = beside(i, j, axis, 1);
    const auto value = [&](double before, double here, double behind) {
      return here + 0.5 * side * mc_slope(here - before, behind - here);
    };
    const Gas face = {value(b.rho, g.rho, a.rho),
                      {value(b.v[0], g.v[0], a.v[0]), value(b.v[1], g.v[1], a.v[1])},
                      value(b.p, g.p, a.p)};
    return face.rho > 0 && face.p > 0 ? face : g;
  }

  // Stress on the face behind cell (i, j): along x and along y.
  std::array<double, 2> stress(std::size_t i, std::size_t j, std::size_t axis) const {
    const Gas &g = at(i, j), &a = beside(i, j, axis, 1);
    const std::size_t other = 1 - axis;
    const double eta = q_.shear, zeta = q_.bulk;
    const auto along = [&](std::size_t k) { return (a.v[k] - g.v[k]) / q_.dx[axis]; };
    std::array<double, 2> tau;
    if (q_.kinematic) {
      const double rho = 0.5 * (g.rho + a.rho);
      tau[axis] = rho * (4 * eta / 3 + zeta) * along(axis);
      tau[other] = rho * eta * along(other);
      return tau;
    }
    const auto across = [&](std::size_t k) {  // mean of the central differences of both cells
      const std::size_t i2 = axis == 0 ? i + 1 : i, j2 = axis == 1 ? j + 1 : j;
      return (beside(i, j, other, 1).v[k] - beside(i, j, other, -1).v[k] +
              beside(i2, j2, other, 1).v[k] - beside(i2, j2, other, -1).v[k]) /
             (4 * q_.dx[other]);
    };
    const double divergence = along(axis) + across(other);
    tau[axis] = eta * (2 * along(axis) - 2.0 / 3.0 * divergence) + zeta * divergence;
    tau[other] = eta * (along(other) + across(axis));
    return tau;
  }

  // Flux through the face behind cell (i, j).
  Conserved flux(std::size_t i, std::size_t j, std::size_t axis) const {
    const std::size_t i2 = axis == 0 ? i + 1 : i, j2 = axis == 1 ? j + 1 : j;
    Conserved f =
        hllc_flux(reconstructed(i, j, axis, 1), reconstructed(i2, j2, axis, -1), q_.gamma, axis);
    const std::array<double, 2> tau = stress(i, j, axis);
    for (std::size_t k = 0; k < 2; ++k) {
      f[1 + k] -= tau[k];
      f[3] -= 0.5 * (at(i, j).v[k] + at(i2, j2).v[k]) * tau[k];
    }
    return f;
  }

  std::vector<Conserved> rate() const {
    const std::size_t nx = q_.points[0], ny = q_.points[1];
    std::vector<Conserved> result(nx * ny);
    for (std::size_t i = 0; i < nx; ++i)
      for (std::size_t j = 0; j < ny; ++j) {
        const Conserved x = flux(i, j, 0), x0 = flux(i + nx - 1, j, 0);
        const Conserved y = flux(i, j, 1), y0 = flux(i, j + ny - 1, 1);
        for (std::size_t k = 0; k < 4; ++k)
          result[i * ny + j][k] = -(x[k] - x0[k]) / q_.dx[0] - (y[k] - y0[k]) / q_.dx[1];
      }
    return result;
  }

  GasField moved(const GasField& old, double h, const std::vector<Conserved>& by) const {
    GasField result = old;
    for (std::size_t c = 0; c < old.size(); ++c) {
      Conserved u = conserved(old[c], q_.gamma);
      for (std::size_t k = 0; k < 4; ++k) u[k] += h * by[c][k];
      result[c] = primitive(u, q_.gamma, q_.floor);
    }
    return result;
  }

  CnsProblem q_;
  GasField w_;
};

}  // namespace stap::reference
