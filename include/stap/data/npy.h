#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "stap/data/store.h"

namespace stap {

/// Whether a file's name says that it is one.
inline bool is_npy(const std::filesystem::path& path) {
  return path.extension() == ".npy";
}

/// An array of a `.npy` file (format 1.0 to 3.0), as double. Accepted: C order, little-endian or
/// one-byte real numbers, integers and booleans. Nothing is run and nothing believed: sizes are
/// compared with the file before memory is taken, and `values_most` (0: no limit) bounds it. Throws
/// Error(data), with the path and what is wrong: also for Fortran order, big-endian, complex,
/// structured and object arrays, for files that are too short or have more behind the array, and
/// for what is no regular file.
Array<double> read_npy(const std::filesystem::path& path, std::size_t values_most = 0);

/// Writes float64 in C order, by a file aside that is renamed, and `forced` to disk, or one that a
/// power cut may take. Throws Error(storage).
void write_npy(const std::filesystem::path& path, std::span<const std::size_t> shape,
               std::span<const double> values, bool forced = true);
/// The same of int64.
void write_npy(const std::filesystem::path& path, std::span<const std::size_t> shape,
               std::span<const std::int64_t> values);
/// The same of booleans, given as 0 and 1.
void write_npy_booleans(const std::filesystem::path& path, std::span<const std::size_t> shape,
                        std::span<const std::uint8_t> values);

}  // namespace stap
