// Work that may run side by side: kernels of one group of bundles leave parts of the device idle
// that those of another group can use.
#pragma once

#include <array>
#include <cstddef>

#include "nn/cuda/check.h"

namespace stap::cuda {

inline constexpr std::size_t kBranches = 4;

/// Side streams that fork from a stream and join it again; works while recording, too.
class Branches {
 public:
  Branches() {
    check(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming), "making an event");
    for (std::size_t b = 0; b < kBranches; ++b) {
      check(cudaStreamCreateWithFlags(&streams_[b], cudaStreamNonBlocking), "making a stream");
      check(cudaEventCreateWithFlags(&ends_[b], cudaEventDisableTiming), "making an event");
    }
  }
  ~Branches() {
    for (std::size_t b = 0; b < kBranches; ++b) {
      cudaStreamDestroy(streams_[b]);
      cudaEventDestroy(ends_[b]);
    }
    cudaEventDestroy(start_);
  }
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  /// work(branch, its stream) for branches 0 .. n-1, after all that is on `stream` and before what
  /// will be.
  template <class Work>
  void run(cudaStream_t stream, std::size_t n, const Work& work) {
    check(cudaEventRecord(start_, stream), "forking");
    for (std::size_t b = 0; b < n; ++b) {
      check(cudaStreamWaitEvent(streams_[b], start_), "forking");
      work(b, streams_[b]);
      check(cudaEventRecord(ends_[b], streams_[b]), "joining");
      check(cudaStreamWaitEvent(stream, ends_[b]), "joining");
    }
  }

 private:
  cudaEvent_t start_ = nullptr;
  std::array<cudaStream_t, kBranches> streams_{};
  std::array<cudaEvent_t, kBranches> ends_{};
};

}  // namespace stap::cuda
