#pragma once

// The engine that tests of networks run on: STAP_TEST_DEVICE=cuda in the environment puts them on
// the GPU, in single precision, since they compare with values that single precision reaches.

#include <cstdlib>
#include <string>

#include "stap/nn/engine.h"

namespace stap::test {

inline bool testing_cuda() {
  const char* device = std::getenv("STAP_TEST_DEVICE");
  return device != nullptr && std::string(device) == "cuda";
}

inline std::unique_ptr<Engine> make_engine_under_test(const NetworkSpec& shape, int members,
                                                      int threads = 0) {
  return testing_cuda() ? make_cuda_engine(shape, members, ComputeOptions::Precision::fp32)
                        : make_cpu_engine(shape, members, threads);
}

}  // namespace stap::test
