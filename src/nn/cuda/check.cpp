#include "nn/cuda/check.h"

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::cuda {

void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // else every later call would report it again
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw Error(
        ErrorKind::unavailable,
        fmt::format("the GPU's memory does not suffice ({:.2f} of {:.2f} GiB are free): "
                    "choose fewer members or runs at a time, or device: cpu",
                    static_cast<double>(free) / (1 << 30), static_cast<double>(total) / (1 << 30)));
  }
  throw Error(ErrorKind::unavailable,
              fmt::format("{} failed on the GPU: {}", what, cudaGetErrorString(status)));
}

}  // namespace stap::cuda
