#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace stap {

/// A file written aside and put in its place in one step, so that nobody ever sees half of it.
class PendingFile {
 public:
  /// Creates an empty temporary file beside `target`, which nobody may read who may not read an
  /// older one in its place, with no other rights than `most` from the first moment on. Throws
  /// Error(storage), with the cause, if that folder cannot be written or `target` is something else
  /// than a file.
  explicit PendingFile(std::filesystem::path target, mode_t most = 0666);
  /// Removes the temporary file unless commit() has succeeded.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::filesystem::path& target() const { return target_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Adds to its end. Throws Error(storage).
  void write(std::string_view bytes);
  /// Puts a seal (stap/core/seal.h) behind all that is in it. Throws Error(storage).
  void seal();
  /// The temporary file, open to read and write: whoever opens it by its name should look whether
  /// it is still this one.
  int file() const { return file_; }
  /// Makes sure that the temporary file can grow to this many bytes; it stays empty. Throws
  /// Error(storage) if the disk or a limit does not allow it.
  void check_room(std::uintmax_t bytes) const;
  /// Forces the temporary file to disk (unless it may be lost) and renames it to the target. Throws
  /// Error(storage).
  void commit(bool forced = true);

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty once committed
  int file_ = -1;
};

/// What is put behind a file's name while it is written: our process and machine, and a number.
std::string pending_suffix(unsigned number);

/// Removes what processes of this machine that are gone have left of writing `target`, a file or a
/// folder: for who writes it anew.
void remove_leftovers_of(const std::filesystem::path& target);

/// Forces the names in a folder to disk. Throws Error(storage); `target` is the name it is about.
void sync_names(const std::filesystem::path& target);

/// The name of the file that a temporary file of this name was to become: "a.h5" for
/// "a.h5.tmp-123-0"; empty for any other name.
std::string pending_target(const std::string& name);

}  // namespace stap
