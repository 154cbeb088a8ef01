#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace stap {

/// Who holds a file as long as it gives signs of life: lock.json, of who works in its folder.
struct LockHolder {
  std::string who;          ///< "process 4711 on n3"
  std::string since;        ///< "2026-11-16 05:20:11 UTC"
  bool lives_here = false;  ///< on this machine, and runs
  bool gone = false;        ///< was on this machine, or has said that it ended
  bool copied = false;      ///< it runs, but holds the file that this one is a copy of
  bool moved = false;       ///< two signs of life were seen, so it runs, wherever it is
  double silent = 0;        ///< seconds since its last sign of life, unless it lives or lived here
  double silence = 30;      ///< after so many others may take its place

  /// As far as one look can tell, others may take its place.
  bool stale() const;
  /// "process 4711 on n3, since 2026-11-16 05:20:11 UTC".
  std::string text() const;
};

/// Empty: nobody does, or says so. Only reads; `silent` is by this machine's clock. Throws
/// Error(storage) if a lock cannot be looked at.
std::optional<LockHolder> lock_holder(const std::filesystem::path& folder);

/// Whether a file of this name is a folder's lock, or what is left of making one.
bool is_lock_file(const std::string& name);

/// Removes a folder's lock.json if it is stale or, where `forced`, of a process of another machine.
/// Returns whose it was; empty: there is none. Throws Error(storage) otherwise.
std::optional<LockHolder> unlock_folder(const std::filesystem::path& folder, bool forced);

}  // namespace stap
