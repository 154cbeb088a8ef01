// A real field on a periodic interval, one register of rows at a time, on the grid and in Fourier
// space: for kernels (*.isa.cpp) only.
//
// Grid values: point i is the register at u + i kRows. Modes: k = 0 .. N/2, real and imaginary part
// side by side at modes + 2 k kRows, with u(x_i) = Re of the sum over all k of v_k exp(2 pi i k
// i/N): to_grid() needs no factor and to_modes() leaves one of N to the caller.
#pragma once

#include "pde/lane_rows.h"
#include "pde/line_fft.h"

namespace stap::STAP_ISA {

struct Mode {
  V re, im;
};

inline Mode get_mode(const double* modes, std::size_t k) {
  return {load(modes + 2 * k * kRows), load(modes + (2 * k + 1) * kRows)};
}
inline void put_mode(double* modes, std::size_t k, Mode value) {
  store(modes + 2 * k * kRows, value.re);
  store(modes + (2 * k + 1) * kRows, value.im);
}

/// Doubles of a field on either side; both are a whole number of cache lines.
inline std::size_t mode_values(std::size_t points) {
  return (points + 2) * kRows + (kRows < 4 ? 8 - (points + 2) * kRows % 8 : 0);
}

inline void to_grid(const LineFft& fft, const double* modes, double* u, double* scratch) {
  fft.kernels->real_inverse(*fft.plan, modes, modes + kRows, 2 * kRows, u, kRows, kRows,
                            fft.modes(), scratch);
}
/// `modes` may be `u`.
inline void to_modes(const LineFft& fft, const double* u, double* modes, double* scratch) {
  fft.kernels->real_forward(*fft.plan, u, kRows, modes, modes + kRows, 2 * kRows, kRows,
                            fft.modes(), scratch);
}

/// squares = u^2 at every point; whether every |u| <= bound, lane by lane (false for NaN).
inline Mask square(std::size_t points, const double* u, V bound, double* squares) {
  Mask inside = ~Mask{};
  for (std::size_t i = 0; i < points; ++i) {
    const V value = load(u + i * kRows);
    inside &= magnitude(value) <= bound;
    store(squares + i * kRows, value * value);
  }
  return inside;
}

}  // namespace stap::STAP_ISA
