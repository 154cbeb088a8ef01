// FitzHugh-Nagumo as nested loops: fluxes through the faces of cells, a classical Runge-Kutta step
// at a time. Slow and obvious: the oracle for the solver.
#pragma once

#include <cstddef>
#include <vector>

namespace stap::reference {

struct Fhn {
  std::size_t nx, ny;
  double dx, dy, du, dv, k, reaction = 1.0;
  bool ring_x = false, ring_y = false;
  std::vector<char> closed{};  // [x][y]; empty: none is

  using Row = std::vector<double>;  // [u, v][x][y]

  bool is_closed(std::size_t cell) const { return !closed.empty() && closed[cell] != 0; }

  // Every face once: what flows through it leaves one cell and enters the other.
  Row slope(const Row& at) const {
    const std::size_t cells = nx * ny;
    Row f(2 * cells);
    const auto face = [&](std::size_t a, std::size_t b, double h) {
      if (is_closed(a) || is_closed(b)) return;
      for (const std::size_t c : {0u, 1u}) {
        const double flux = (c == 0 ? du : dv) * (at[c * cells + b] - at[c * cells + a]) / (h * h);
        f[c * cells + a] += flux;
        f[c * cells + b] -= flux;
      }
    };
    for (std::size_t i = 0; i < nx; ++i)
      for (std::size_t j = 0; j < ny; ++j) {
        if (i + 1 < nx || ring_x) face(i * ny + j, (i + 1) % nx * ny + j, dx);
        if (j + 1 < ny || ring_y) face(i * ny + j, i * ny + (j + 1) % ny, dy);
      }
    for (std::size_t p = 0; p < cells; ++p) {
      if (is_closed(p)) continue;
      const double u = at[p], v = at[cells + p];
      f[p] += reaction * (u - u * u * u - k - v);
      f[cells + p] += reaction * (u - v);
    }
    return f;
  }

  static Row moved(const Row& from, double h, const Row& by) {
    Row to = from;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += h * by[i];
    return to;
  }

  Row advance(Row state, double time, std::size_t steps) const {
    const double h = time / static_cast<double>(steps);
    for (std::size_t s = 0; s < steps; ++s) {
      const Row a = slope(state), b = slope(moved(state, h / 2, a));
      const Row c = slope(moved(state, h / 2, b)), d = slope(moved(state, h, c));
      for (std::size_t i = 0; i < state.size(); ++i)
        state[i] += h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
    }
    return state;
  }
};

}  // namespace stap::reference
