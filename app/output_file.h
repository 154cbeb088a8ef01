#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace stap::app {

/// What a command writes. An older one of the same kind may be replaced, anything else is kept.
enum class OutputKind {
  prediction,
  trajectories,
  queries,
  well,
  xdmf,
  xdmf_values,
  model,
  onnx,
  folder
};

/// Refuses an output that would take the place of one of `inputs`, by whatever name or link, lies
/// in an input that is a folder, or is there and of another kind (folders are looked at by who
/// writes them). Throws Error(config).
void check_output(const std::filesystem::path& output, OutputKind kind,
                  std::initializer_list<std::filesystem::path> inputs);

/// What to call a file that is made of `input`: its name without folders and ending.
std::string stem_of(const std::filesystem::path& input);

/// What is written as text, and how it is told from other people's files.
struct TextOutput {
  const char* kind;       ///< "figure of stap"
  const char* extension;  ///< ".svg"
  bool (*is_ours)(std::string_view begin);
};
/// Refuses an output in the place of a file that is none of ours, by how it begins (its first
/// 64 kB), and one in a folder among `inputs` that does not end as such files do, as it might be
/// taken for one of the folder's own. Throws Error(config).
void check_text_output(const std::filesystem::path& output, const TextOutput& what,
                       std::span<const std::filesystem::path> inputs);

}  // namespace stap::app
