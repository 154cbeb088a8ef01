#pragma once

#include <filesystem>

#include "stap/nn/model_file.h"

namespace stap {

/// How such a file begins: version of the format, and that we made it.
inline constexpr char kOnnxBegin[] = "\x08\x08\x12\x04stap";

/// Writes one step of a committee as an ONNX graph (opset 13, single precision), for runtimes of
/// others. Input `state` [batch, C, X...], `step` [batch] where networks have a time input, and
/// `parameters` [batch, P] in physical units where some vary; outputs `next` [batch, C, X...], the
/// averaged model's, and `members` [M, batch, C, X...]. Transforms are products with constant
/// tables. Throws Error(config) for a family that it does not know and for more than 2 GB, which
/// the format cannot hold, and Error(storage).
void write_onnx(const std::filesystem::path& path, const Model& model);

}  // namespace stap
