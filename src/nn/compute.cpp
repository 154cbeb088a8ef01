#include "stap/nn/compute.h"

#include "nn/engines.h"
#include "stap/core/error.h"

namespace stap {

const config::Fields<ComputeOptions>& compute_fields() {
  using O = ComputeOptions;
  static const config::Fields<O> fields{
      {"device", &O::device,
       "where networks are trained and applied; auto: the GPU if there is one",
       config::choices<O::Device>(
           {{"cpu", O::Device::cpu}, {"cuda", O::Device::cuda}, {"auto", O::Device::automatic}})},
      {"precision", &O::precision, "of matrix products on the GPU",
       config::choices<O::Precision>({{"fp32", O::Precision::fp32}, {"tf32", O::Precision::tf32}})},
  };
  return fields;
}

bool uses_gpu(const ComputeOptions& options) {
  using Device = ComputeOptions::Device;
  return options.device == Device::cuda ||
         (options.device == Device::automatic && cuda_problem().empty());
}

std::string device_text(const ComputeOptions& options) {
  if (!uses_gpu(options)) return "cpu";
  if (const std::string problem = cuda_problem(); !problem.empty())
    throw Error(ErrorKind::unavailable, "device cuda was asked for, but " + problem);
  return "cuda: " + cuda_name();
}

}  // namespace stap
