#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>

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

/// Throws Error(data): a file of ours lacks this key, or holds something else under it.
[[noreturn]] void throw_bad_field(const char* key, const std::filesystem::path& path);

/// A value of a map that must be there, as T. Throws Error(data) naming `path`.
template <class T>
T field(const config::Value& map, const char* key, const std::filesystem::path& path) {
  const config::Value* value = map.find(key);
  std::optional<T> found;
  if constexpr (std::is_same_v<T, std::string>) {
    if (value != nullptr && value->text() != nullptr) found = *value->text();
  } else if constexpr (std::is_same_v<T, double>) {
    if (value != nullptr) found = value->real();
  } else {
    if (value != nullptr) found = value->integer<T>();
  }
  if (!found) throw_bad_field(key, path);
  return *found;
}

}  // namespace stap
