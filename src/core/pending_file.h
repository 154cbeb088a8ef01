#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace stap {

/// A file written aside and put in its place in one step, so that nobody ever sees half of it.
class PendingFile {
 public:
  /// Creates an empty temporary file beside `target`. Throws Error(storage), with the cause, if
  /// that folder cannot be written or `target` is something else than a file.
  explicit PendingFile(std::filesystem::path target);
  /// Removes the temporary file unless commit() has succeeded.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::filesystem::path& target() const { return target_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Makes sure that the temporary file can grow to this many bytes; it stays empty. Throws
  /// Error(storage) if the disk or a limit does not allow it.
  void check_room(std::uintmax_t bytes) const;
  /// Forces the temporary file to disk (unless it may be lost) and renames it to the target. Throws
  /// Error(storage).
  void commit(bool forced = true);

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty once committed
};

/// The name of the file that a temporary file of this name was to become: "a.h5" for
/// "a.h5.tmp-123-0"; empty for any other name.
std::string pending_target(const std::string& name);

}  // namespace stap
