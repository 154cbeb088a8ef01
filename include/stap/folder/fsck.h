#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stap/core/error.h"
#include "stap/folder/run_folder.h"

// Looking for damage. Nothing here writes.
namespace stap {

/// What was found of one file.
struct FileState {
  enum class Is {
    whole,
    damaged,
    missing,
    unsealed,  ///< has no checksum: made elsewhere, by an earlier version, or nothing depends on it
  };
  std::filesystem::path file;
  Is is = Is::whole;
  std::string why{};  ///< in words, where it is not whole or there is something to say

  bool good() const { return is == Is::whole || is == Is::unsealed; }
};
std::string_view to_string(FileState::Is is);

/// Whether a folder holds a run, or what is left of one.
bool is_run(const std::filesystem::path& folder);

/// Whether a folder is one of 'stap simulate', or what is left of it.
bool is_simulation(const std::filesystem::path& folder);

/// What the journal of a run says.
struct RunRecord {
  std::string run;
  std::vector<std::string> configs, manifests;  ///< all that the run had
  std::vector<std::size_t> passes{};            ///< of every ledger

  std::size_t ledgers() const { return passes.size(); }
};
/// Throws Error(data).
RunRecord read_record(const std::filesystem::path& journal);

/// A size of the section `study` of a configuration; 0 if it is not there.
std::size_t study_size(const config::Value& document, const char* key);

template <class Read>
auto if_readable(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Purchases of a run that are complete: by the ledgers of its journal, and by all of its files.
/// There are more of the latter if the journal's end was lost.
struct Purchases {
  std::size_t ledgers = 0, known = 0;
};
/// Throws Error(data) if the journal cannot be read.
Purchases purchases_of(const RunFolder& folder);

/// Every file of a run from which something is computed: its checksum, whether it belongs to this
/// run, round and data, and whether what must be there is. Files that do not exist and need not are
/// left out.
std::vector<FileState> check_run(const RunFolder& folder);
/// Of a folder that 'stap generate' has made, or an entry of the cache.
std::vector<FileState> check_data(const std::filesystem::path& folder);
/// A file by itself, of any of our formats.
FileState check_file(const std::filesystem::path& file);

}  // namespace stap
