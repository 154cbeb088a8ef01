// Convolutions of one row on a CPU, one table of functions per instruction set. Fields and weights
// as nn/cpu/kernels.h says; the weight of a tap is a dense weight in panels, one tap after the
// other. What is padded holds zeros. Every sum runs in one fixed order per output element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stap/core/isa.h"

namespace stap::cpu::dilated {

/// y = act(bias + sum over entries of x[source] W[tap]) * factor + add; null pointers leave their
/// part out. Entries as nn/neighbours.h says: x has a point of zeros behind the others. `add`,
/// `factor`, `y` and `slope` have stride ldy; `y` may be `add` or `factor`, never `x`.
struct Convolution {
  std::size_t points, in, out_padded, entries;
  const std::uint32_t *source, *tap;
  const float* x;
  std::size_t ldx;
  const float* weight;
  const float* bias;
  bool gelu;
  float* slope;  ///< of GELU at its argument
  const float* factor;
  const float* add;
  float* y;
  std::size_t ldy;
};

/// gradient[tap] += sum over points, in order, of x[source]^T d, for entries that are the taps.
struct TapGradient {
  std::size_t points, in, out_padded, taps;
  const std::uint32_t* source;
  const float* x;
  std::size_t ldx;
  const float* d;
  std::size_t ldd;
  float* gradient;
};

struct Convolutions {
  void (*convolve)(const Convolution&);
  void (*tap_gradient)(const TapGradient&);
};

const Convolutions& convolutions(Isa isa);

}  // namespace stap::cpu::dilated
