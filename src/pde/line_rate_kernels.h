// The rate of change of u_t = L u - (u^2/2)_x: one register of rows at a time, compiled once per
// instruction set.
#pragma once

#include <cstddef>

#include "core/isa_choice.h"
#include "pde/line_fft.h"

namespace stap {

/// Where the coefficients of a mode lie in its row of the table. With V = F[u] and S = F[u^2], both
/// not normalised, the mode of du/dt is linear V + i slope S.
enum LineRateColumn : std::size_t { kLineLinear = 0, kLineSlope = 2, kLineColumns = 3 };

struct LineRate {
  LineFft fft;
  const double* table = nullptr;  ///< [N/2 + 1][kLineColumns]; linear is (re, im)
};

struct LineRateKernel {
  std::size_t lanes;                        ///< rows at once
  std::size_t (*work)(const LineFft& fft);  ///< doubles of scratch
  /// Puts du/dt in the place of u; point i of row r is u[i * lanes + r]. A row's result does not
  /// depend on the others. `u` and `work` are aligned to 64 bytes.
  void (*rate)(const LineRate& line, double* u, double* work);
};

STAP_DECLARE_PER_ISA(LineRateKernel, kLineRateKernel);

}  // namespace stap
