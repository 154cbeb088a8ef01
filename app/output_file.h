#pragma once

#include <filesystem>
#include <initializer_list>

namespace stap::app {

/// Refuses an output that would take the place of one of `inputs`, by whatever name or link, or of
/// a file that is no HDF5 file, so none of ours. Throws Error(config).
void check_output(const std::filesystem::path& output,
                  std::initializer_list<std::filesystem::path> inputs);

}  // namespace stap::app
