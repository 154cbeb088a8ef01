#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stap/nn/fno.h"

namespace stap {

/// The content of a safetensors file whose tensors are all of type F32.
struct TensorFile {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Written aside and renamed. Throws Error(storage).
void write_tensors(const std::filesystem::path& path, const TensorFile& file);
/// Throws Error(data) for anything that is not a whole and consistent file.
TensorFile read_tensors(const std::filesystem::path& path);

}  // namespace stap
