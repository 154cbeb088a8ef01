#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace stap {

/// Who works in a folder, as its lock.json says.
struct LockHolder {
  std::string who;          ///< "process 4711 on n3"
  std::string since;        ///< "2026-11-16 05:20:11 UTC"
  bool lives_here = false;  ///< on this machine, and runs
  bool gone = false;        ///< was on this machine
  bool copied = false;      ///< it runs, but in the folder that this one is a copy of
  double silent = 0;        ///< seconds since its last sign of life, unless it lives or lived here

  /// Gone, elsewhere, or silent for more than half a minute: whoever comes may take its place.
  bool stale() const;
  /// "process 4711 on n3, since 2026-11-16 05:20:11 UTC".
  std::string text() const;
};

/// Empty: nobody does, or says so. Throws Error(storage) if a lock cannot be looked at.
std::optional<LockHolder> lock_holder(const std::filesystem::path& folder);

/// The same for who only reads: nothing is written, and `silent` is by this machine's clock.
std::optional<LockHolder> lock_holder_seen(const std::filesystem::path& folder);

/// Whether a file of this name is a folder's lock, or what is left of making one.
bool is_lock_file(const std::string& name);

/// Removes a folder's lock.json if it is stale or, where `forced`, of a process of another machine.
/// Returns whose it was; empty: there is none. Throws Error(storage) otherwise.
std::optional<LockHolder> unlock_folder(const std::filesystem::path& folder, bool forced);

}  // namespace stap
