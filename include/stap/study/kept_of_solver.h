// What is known of a user's own solver from one command to the next.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "stap/study/study.h"

namespace stap {

/// Where the cache has it: in its folder `kind`, under the problem's `pde` section and how its
/// solver is reached. Empty where there is no cache.
std::filesystem::path kept_of_solver(const Study& study, const std::string& kind);

/// Nothing where the file is empty or cannot be written: all of it can be found out again.
void keep(const std::filesystem::path& file, const config::Value& value);

/// Keeps the seconds of training per step in the training set, of one stage. They hold for the
/// networks, training and device that the study states.
void keep_training_seconds(const Study& study, double seconds);
std::optional<double> kept_training_seconds(const Study& study);

}  // namespace stap
