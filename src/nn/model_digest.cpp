#include <fmt/format.h>

#include "stap/core/sha256.h"
#include "stap/nn/model_file.h"

namespace stap {

std::string digest(const Model& model) {
  Sha256 all;
  const auto add = [&](const std::vector<float>& values) {
    all.add(std::as_bytes(std::span(values)));
  };
  for (const MemberState& member : model.members) {
    add(member.scaling.mean);
    add(member.scaling.deviation);
    for (const Tensor& tensor : member.weights) {
      all.add(std::as_bytes(std::span(tensor.name)));
      add(tensor.values);
    }
  }
  return all.hex().substr(0, 16);
}

}  // namespace stap
