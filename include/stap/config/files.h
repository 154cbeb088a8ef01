#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"

namespace stap {

/// Makes a folder and those above it. Throws Error(storage).
void make_folder(const std::filesystem::path& path);
/// Puts a small text file in its place in one step; `forced` to disk, or one that a power cut may
/// take. Throws Error(storage).
void write_text(const std::filesystem::path& path, const std::string& text, bool forced = true);
/// The same for what something is computed from: with a seal (stap/core/seal.h), which readers
/// check. The text of a YAML file, or of a JSON object.
void write_sealed(const std::filesystem::path& path, const std::string& yaml);
void write_sealed_json(const std::filesystem::path& path, const std::string& object);
/// Removes what killed processes were writing when they died, below a folder in which nobody else
/// works now: temporary files, named as ours are, of files that are ours. `ours` is asked about the
/// path of such a file, relative to the folder.
void remove_leftovers(const std::filesystem::path& folder,
                      const std::function<bool(const std::filesystem::path& file)>& ours);
// Most that is read of a file: larger ones are none of ours.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 28;
/// Throws Error(data) with the system's reason if it cannot be read, is larger, or is no file.
std::string read_text_file(const std::filesystem::path& path, std::size_t most = kMaxTextBytes);
/// One of our own YAML files. Throws Error(data) if it cannot be read or is damaged.
config::Value read_yaml(const std::filesystem::path& path, Sealed sealed = Sealed::maybe);
/// One of our own JSON files, of at most kMaxJsonBytes, without its seal. Throws likewise.
config::Value read_json(const std::filesystem::path& path, Sealed sealed = Sealed::maybe);
/// The same of a file that says its format and has a seal. Throws Error(data), too, for another
/// format or a file without a seal.
config::Value read_sealed_json(const std::filesystem::path& path, std::string_view format);
/// Throws an Error if `found` ("sweep/1") is not the format `expected` ("sweep/2"), and says who
/// reads one of an earlier version.
void check_format(std::string_view found, std::string_view expected,
                  const std::filesystem::path& where, ErrorKind kind = ErrorKind::data);

/// A line of a file of JSON objects, one a line.
struct JsonLine {
  std::string text;     ///< without its seal
  config::Value value;  ///< a map
  std::string where;    ///< "run/metrics.jsonl, line 3", for messages
  bool sealed = false;
};
/// All of them; none if there is no such file. Throws Error(data) with file and line for one that
/// is no JSON object or, unless `last_may_be_cut`, has no end; where it may, that one is left out.
std::vector<JsonLine> read_json_lines(const std::filesystem::path& path, bool last_may_be_cut,
                                      Sealed sealed = Sealed::maybe);
/// Adds whole lines (`text` ends with a line break) to a file, with one write. Not forced to disk:
/// for what may be lost. Throws Error(storage).
void append_lines(const std::filesystem::path& path, const std::string& text);
/// Forces such a file to disk, if there is one. Throws Error(storage).
void force_to_disk(const std::filesystem::path& path);
/// Cuts off a last line without an end, as a crash may leave it, if there is one. Throws
/// Error(storage).
void cut_torn_line(const std::filesystem::path& path);

/// Throws Error(data): a file of ours lacks this key, or holds something else under it.
[[noreturn]] void throw_bad_field(const char* key, const std::filesystem::path& path);

/// A value of a map that must be there, as T. Throws Error(data) naming `path`, a file or the
/// `where` of a line.
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
