// What stands in for the GPU engine in builds without CUDA.
#include "nn/bodies.h"
#include "nn/engines.h"
#include "stap/core/error.h"
#include "stap/nn/engine.h"

namespace stap {

std::string cuda_problem() {
  return "this build has no CUDA (configure with STAP_CUDA=ON)";
}

std::string cuda_name() {
  return {};
}

std::function<std::unique_ptr<cuda::Body>(const NetworkSpec&, bool exact)> cuda_fno() {
  return {};
}

std::function<std::unique_ptr<cuda::Body>(const NetworkSpec&, bool exact)> cuda_dilated() {
  return {};
}

std::size_t cuda_training_bytes(const NetworkSpec&, int, bool) {
  return 0;
}

std::unique_ptr<Engine> make_cuda_engine(const NetworkSpec&, int, ComputeOptions::Precision) {
  throw Error(ErrorKind::unavailable, "no GPU can be used: " + cuda_problem());
}

}  // namespace stap
