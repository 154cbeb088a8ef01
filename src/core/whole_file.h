#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "stap/core/error.h"

namespace stap {

/// What it means that a file cannot be read: a shortage of descriptors or memory is `unavailable`,
/// a disk that fails `storage`; anything else is about the file, so `otherwise`.
ErrorKind kind_of_read_error(int error, ErrorKind otherwise);

/// All of a regular file of at most `most` bytes. Whatever else stands in its place (a pipe, a
/// device, a folder) is refused before it is read, a larger file before memory is taken for it.
/// Throws Error(kind), or what kind_of_read_error() says, with the system's reason.
std::string read_whole_file(const std::filesystem::path& path, std::size_t most, ErrorKind kind);

}  // namespace stap
