// Transforms for kernels of one real field on a periodic interval. Plain data, so that kernel files
// may include it.
#pragma once

#include <cstddef>

#include "core/fft_kernels.h"

namespace stap {

/// The kernels must be of the instruction set of the kernel that uses them.
struct LineFft {
  const FftKernels<double>* kernels = nullptr;
  const FftRealPlan<double>* plan = nullptr;
  std::size_t points = 0;   ///< N, even
  std::size_t scratch = 0;  ///< doubles the transforms need

  std::size_t modes() const { return points / 2 + 1; }
};

}  // namespace stap
