// The bodies of the families that are ours, by device.
#pragma once

#include <functional>
#include <memory>

#include "stap/nn/cpu_body.h"
#include "stap/nn/family.h"

namespace stap {

namespace cpu {
std::unique_ptr<Body> make_fno(const NetworkSpec& spec, Isa isa);
std::unique_ptr<Body> make_dilated(const NetworkSpec& spec, Isa isa);
}  // namespace cpu
/// Nothing in builds without CUDA.
std::function<std::unique_ptr<cuda::Body>(const NetworkSpec&, bool exact)> cuda_fno();
std::function<std::unique_ptr<cuda::Body>(const NetworkSpec&, bool exact)> cuda_dilated();

}  // namespace stap
