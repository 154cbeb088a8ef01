#pragma once

#include <filesystem>

#include "nn/safetensors.h"
#include "stap/nn/model_file.h"

namespace stap {

/// The model that the content of a model file is; `path` is for messages. Throws as read_model().
Model model_in(TensorFile file, const std::filesystem::path& path);

}  // namespace stap
