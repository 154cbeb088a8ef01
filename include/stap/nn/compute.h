#pragma once

#include <string>

#include "stap/config/fields.h"

namespace stap {

/// Where networks are trained and applied.
struct ComputeOptions {
  enum class Device { cpu, cuda, automatic };  ///< automatic: the GPU if there is one
  enum class Precision { fp32, tf32 };         ///< of matrix products on the GPU; the CPU has fp32

  Device device = Device::automatic;
  Precision precision = Precision::tf32;

  bool operator==(const ComputeOptions&) const = default;
};

const config::Fields<ComputeOptions>& compute_fields();

/// Why no GPU can be used: empty if one can.
std::string cuda_problem();
/// Whether the options mean the GPU: asked for, there or not, or `automatic` and there.
bool uses_gpu(const ComputeOptions& options);
/// "cpu", or "cuda: NAME" of the GPU that would be used. Throws Error(unavailable) for `cuda`
/// without one.
std::string device_text(const ComputeOptions& options);

}  // namespace stap
