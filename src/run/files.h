#pragma once

#include <filesystem>
#include <string>

#include "stap/config/value.h"

namespace stap {

/// Makes a folder and those above it. Throws Error(storage).
void make_folder(const std::filesystem::path& path);
/// Puts a small text file in its place in one step. Throws Error(storage).
void write_text(const std::filesystem::path& path, const std::string& text);
/// Removes what killed processes were writing when they died, below a folder in which nobody else
/// works now.
void remove_leftovers(const std::filesystem::path& folder);
/// Throws Error(data) if it cannot be read.
std::string read_text_file(const std::filesystem::path& path);
/// One of our own YAML or JSON files. Throws Error(data) if it cannot be read or is damaged.
config::Value read_document(const std::filesystem::path& path);

}  // namespace stap
