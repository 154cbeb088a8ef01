// Looking at files for `stap fsck` (stap/folder/fsck.h).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stap/core/error.h"
#include "stap/folder/fsck.h"

namespace stap {

/// Something of this name, whatever it is.
bool any_file_at(const std::filesystem::path& path);
/// What a look at a file says: `at` gives its state, or throws Error.
FileState look_at_file(const std::filesystem::path& file, const std::function<FileState::Is()>& at);

/// What the journal of a run says.
struct RunRecord {
  std::string run;
  std::vector<std::string> configs, manifests;  ///< all that the run had
  std::vector<std::size_t> passes{};            ///< of every ledger

  std::size_t ledgers() const { return passes.size(); }
};
/// Throws Error(data).
RunRecord read_record(const std::filesystem::path& journal);

template <class Read>
auto if_readable(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace stap
