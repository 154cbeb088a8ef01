#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace stap::app {

/// Refuses an output that would take the place of one of `inputs`, by whatever name or link, or of
/// a file that is no HDF5 file, so none of ours. Throws Error(config).
void check_output(const std::filesystem::path& output,
                  std::initializer_list<std::filesystem::path> inputs);

/// Refuses an output in the place of a file that does not begin with this text, so is none of ours:
/// `kind` is what it should be ("SVG file"). Throws Error(config).
void check_text_output(const std::filesystem::path& output, std::string_view begin,
                       std::string_view kind);

}  // namespace stap::app
