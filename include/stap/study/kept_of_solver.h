// What is known of a user's own solver from one command to the next.
#pragma once

#include <filesystem>
#include <string>

#include "stap/study/study.h"

namespace stap {

/// Where the cache has it: in its folder `kind`, under the problem's `pde` section and how its
/// solver is reached. Empty where there is no cache.
std::filesystem::path kept_of_solver(const Study& study, const std::string& kind);

/// Nothing where the file is empty or cannot be written: all of it can be found out again.
void keep(const std::filesystem::path& file, const config::Value& value);

}  // namespace stap
