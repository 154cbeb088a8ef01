#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "stap/nn/engine.h"
#include "stap/nn/model_file.h"

namespace stap {

/// The model file a user means: a file itself, or of a run folder the newest committee,
/// rounds/NN/committee.safetensors of the highest NN that has one. Throws Error(data) if there is
/// no such file or folder, or no committee in it.
std::filesystem::path model_of(const std::filesystem::path& given);
/// What is to be said where these are not the networks of the last round that was measured; empty:
/// they are, or a file was given.
std::string about_older_networks(const std::filesystem::path& given);

/// The networks of a round of a run (nothing: of the highest that has any), for a file that stands
/// by itself: with the problem and the error bars of these networks, if they were calibrated, and
/// without what only training needs. Throws Error(data) where
/// there are none, or they are another run's.
Model standalone_model(const std::filesystem::path& run, std::optional<std::size_t> round);

/// A model file, ready to compute.
struct Surrogate {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Committee> committee;  ///< all members; reads the engine's weights

  ModelProblem problem{};

  std::size_t cluster = 1;  ///< k: rows of the committee are clusters of k states

  const Grid& grid() const { return engine->spec().grid; }
};
/// Throws Error(data) if the file is missing, damaged or without members, and Error(unavailable)
/// without the device. `threads`: 0 = all.
Surrogate load_surrogate(const std::filesystem::path& model_file, const ComputeOptions& compute,
                         int threads = 0);

}  // namespace stap
