// What is known of a user's own solver from one command to the next.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "stap/study/study.h"

namespace stap {

/// Where the cache has it: in its folder `kind`, under the problem's `pde` section, how its solver
/// is reached, and `more`. Empty where there is no cache.
std::filesystem::path kept_of_solver(const Study& study, const std::string& kind,
                                     const std::string& more = "");

/// Nothing where the file is empty or cannot be written: all of it can be found out again.
void keep(const std::filesystem::path& file, const config::Value& value);

/// Keeps the seconds of training per step in the training set, of one stage. They hold for what the
/// study states of networks, of the length of their training and of what computes them.
void keep_training_seconds(const Study& study, double seconds);
std::optional<double> kept_training_seconds(const Study& study);

}  // namespace stap
