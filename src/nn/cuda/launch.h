// What the launches of all kernels share, on the host.
#pragma once

#include <cstddef>

#include "nn/cuda/check.h"
#include "nn/cuda/kernels.h"

namespace stap::cuda {

constexpr std::size_t bytes(std::size_t floats) {
  return floats * sizeof(float);
}

/// What a block may hold where two are to fit on a multiprocessor (H100, H200: 228 KiB, of which
/// every block takes another one).
inline constexpr std::size_t kSharedOfTwo = 113 * 1024;

/// Lets a kernel's blocks have `size` bytes of shared memory.
template <class Kernel>
void allow(Kernel kernel, std::size_t size) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(size)),
        "shared memory of a kernel");
}

/// Raise the shared-memory limits of a file's kernels.
void prepare_lift();
void prepare_layer();
void prepare_project();
void prepare_transform();
void prepare_modes();
void prepare_rows();

/// Throws, naming the kernel, unless the launch just made went well.
void launched(const char* name);

inline unsigned as_grid(int n) {
  return unsigned(n);
}

/// Blocks of a bundle where nothing is summed over points: enough for the device, few enough that
/// the weights a block reads first are used often.
dim3 tiles_grid(const Launch& launch);
/// Blocks of a bundle where lifting and projection sum over points: one for every chunk of a part,
/// the chunks of a part side by side.
dim3 chunks_grid(const Launch& launch);

// Launches a kernel in the precision asked for.
#define STAP_LAUNCH(exact, name, ...) \
  do {                                \
    if (exact) {                      \
      name<true> __VA_ARGS__;         \
    } else {                          \
      name<false> __VA_ARGS__;        \
    }                                 \
    launched(#name);                  \
  } while (false)

}  // namespace stap::cuda
