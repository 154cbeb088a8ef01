#pragma once

#include "nn/cuda/check.h"

namespace stap::cuda {

/// Work in order; destroyed at the end of the scope.
class Stream {
 public:
  Stream() { check(cudaStreamCreate(&stream_), "making a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace stap::cuda
