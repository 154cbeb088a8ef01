#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stap/data/transitions.h"
#include "stap/eval/error_bars.h"
#include "stap/nn/model_file.h"

namespace stap {

/// Error bars of the networks that a user means (model_of.h), or why there are none.
struct FoundBars {
  std::optional<ErrorBars> bars{};
  std::string absent{};  ///< names the file or folder and what to do
  bool stale = false;    ///< there are some, of networks that were trained anew since
};
/// Of a run folder those in bars.json, of a model file its own, if they are of these weights.
/// Throws Error(data) if there are damaged ones.
FoundBars find_bars(const std::filesystem::path& given);

/// The least scale of each channel of a state: a millionth of its deviation in the training data,
/// about what single precision rounds in a few steps. It depends on no trajectory that bars are
/// calibrated on.
std::vector<double> bar_floors(const Model& model);

/// Hashes (state_hash()) of all states in the training set of a run, rising.
std::vector<std::uint64_t> trained_states(const TransitionSet& set);

}  // namespace stap
