#pragma once

#include "nn/cuda/check.h"

namespace stap::cuda {

/// Kernels recorded once and launched together: what they read and write must stay where it is.
/// work() launches them on `stream` and on streams that fork from it and join it again; it must not
/// allocate, copy or wait.
class Graph {
 public:
  template <class Work>
  Graph(cudaStream_t stream, const Work& work) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording kernels");
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "recording kernels");
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "preparing recorded kernels");
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(executable_, stream), "launching recorded kernels");
  }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace stap::cuda
