#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "stap/core/error.h"

namespace stap {

/// All of a regular file of at most `most` bytes. Whatever else stands in its place (a pipe, a
/// device, a folder) is refused before it is read, a larger file before memory is taken for it.
/// Throws Error(kind) with the system's reason.
std::string read_whole_file(const std::filesystem::path& path, std::size_t most, ErrorKind kind);

}  // namespace stap
