// lock.json, which says who works in a folder. A lock of the file system on the journal keeps two
// processes apart where there are such locks; this one says who has it, and keeps them apart where
// locks do not reach from machine to machine. It is removed in the end and touched every few
// seconds until then, so whoever finds it can judge it (LockHolder).
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "stap/journal/lock_holder.h"

namespace stap {

/// That file, as long as this lives.
class FolderLock {
 public:
  /// Takes the place of a stale one. Throws InUse, with who has it, or Error(storage).
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Whose place it took: somebody who did not come to the end.
  const std::optional<LockHolder>& before() const { return before_; }
  /// Another process has taken over: nothing must be written any more.
  bool lost() const { return lost_; }
  /// A sign of life. (It is given every few seconds, too, by a thread for all locks.)
  void beat();

 private:
  bool is_ours() const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::atomic<bool> lost_ = false;
  std::optional<LockHolder> before_;
};

/// "FOLDER is in use by ...", as far as its lock.json tells.
std::string in_use_text(const std::filesystem::path& folder);

}  // namespace stap
