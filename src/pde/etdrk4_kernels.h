// Fixed exponential steps for u_t = L u - (u^2/2)_x: one register of rows at a time, compiled once
// per instruction set.
#pragma once

#include <cstddef>

#include "core/isa_choice.h"
#include "pde/lane_end.h"
#include "pde/line_fft.h"

namespace stap {

/// Where the coefficients of a mode lie in its row of the table, as (re, im). With S = F[u^2] not
/// normalised: a = half v + stage S_v; b = half v + stage S_a; c = half a + stage (2 S_b - S_v);
/// v <- full v + first S_v + middle (S_a + S_b) + last S_c.
enum Etdrk4Column : std::size_t {
  kEtdHalf = 0,
  kEtdStage = 2,
  kEtdFull = 4,
  kEtdFirst = 6,
  kEtdMiddle = 8,
  kEtdLast = 10,
  kEtdColumns = 12
};

struct Etdrk4Step {
  LineFft fft;
  const double* table = nullptr;  ///< [N/2 + 1][kEtdColumns], or, with one per lane,
                                  ///< [N/2 + 1][kEtdColumns][lanes], aligned to 64 bytes
  bool per_lane = false;
  std::size_t steps = 0;  ///< how many
  double bound = 0.0;     ///< a row ends as `unbounded` when not all |u| <= bound
};

struct Etdrk4Kernel {
  std::size_t lanes;                        ///< rows advanced at once
  std::size_t (*work)(const LineFft& fft);  ///< doubles of scratch
  /// Advances rows 0 .. rows-1 (rows <= lanes); point i of row r is u[i * lanes + r]. A row's
  /// result does not depend on the others; `ends` has `rows` entries. `u` and `work` are aligned to
  /// 64 bytes.
  void (*advance)(const Etdrk4Step& step, std::size_t rows, double* u, double* work, LaneEnd* ends);
};

STAP_DECLARE_PER_ISA(Etdrk4Kernel, kEtdrk4Kernel);

}  // namespace stap
