// CUDA errors as ours.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace stap::cuda {

/// Throws Error(unavailable) naming `what` unless the call went well; out of memory says so.
void check(cudaError_t status, const std::string& what);

}  // namespace stap::cuda
