#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stap/nn/network.h"

namespace stap {

/// The content of a safetensors file whose tensors are all of type F32.
struct TensorFile {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
  bool sealed = false;  ///< of one that was read: it has a checksum, which fits
};

/// Written aside and renamed, with a checksum over all of its bytes in the metadata ("seal").
/// Throws Error(storage).
void write_tensors(const std::filesystem::path& path, const TensorFile& file);
/// Throws Error(data) for anything that is not a whole and consistent file. One without a checksum
/// may come from elsewhere.
TensorFile read_tensors(const std::filesystem::path& path);

}  // namespace stap
