#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace stap::app {

/// What a command writes. An older one of the same kind may be replaced, anything else is kept.
enum class OutputKind { prediction, trajectories, queries, well, xdmf, xdmf_values, folder };

/// Refuses an output that would take the place of one of `inputs`, by whatever name or link, lies
/// in an input that is a folder, or is there and of another kind (folders are looked at by who
/// writes them). Throws Error(config).
void check_output(const std::filesystem::path& output, OutputKind kind,
                  std::initializer_list<std::filesystem::path> inputs);

/// Refuses an output in the place of a file that is none of ours, by how it begins (its first
/// 64 kB): `kind` is what it should be ("figure of stap"). Throws Error(config).
void check_text_output(const std::filesystem::path& output, bool (*is_ours)(std::string_view begin),
                       std::string_view kind);

}  // namespace stap::app
