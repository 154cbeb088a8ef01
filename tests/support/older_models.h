#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "nn/safetensors.h"

namespace stap::test {

/// Writes a model file, of an FNO that conserves nothing, as earlier versions did (model/2).
inline void make_older(const std::filesystem::path& model_file) {
  using nlohmann::json;
  TensorFile file = read_tensors(model_file);
  json shape = json::parse(file.metadata.at("spec"));
  for (const auto& [key, value] : shape.at("network").items())
    if (key != "name" && (key != "position_input" || value == true)) shape[key] = value;
  for (const char* key : {"network", "conserved", "horizon"}) shape.erase(key);
  for (const char* key : {"requires", "spec"}) file.metadata.erase(key);
  file.metadata["format"] = "model/2";
  file.metadata["shape"] = shape.dump();
  write_tensors(model_file, file);
}

/// All networks of a run's folder.
inline void make_networks_older(const std::filesystem::path& run) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run))
    if (entry.path().extension() == ".safetensors") make_older(entry.path());
}

}  // namespace stap::test
