// A file that grows at its end: what journal and answer store are written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "core/descriptor.h"

namespace stap {

/// After a write or a sync that failed nobody knows what is on disk: every later one fails, too.
/// Where this process has many of them, those that are on disk are closed until they are needed: a
/// sweep has two of every run.
class AppendFile {
 public:
  /// Opens or makes it, to read and to write, or opens it only to read. Throws Error(storage) if
  /// that cannot be done, or if it is something else than a file.
  explicit AppendFile(std::filesystem::path path, bool only_read = false);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Until it is closed, also for a rest. False if another process has it; true where nothing can
  /// be locked.
  bool lock();
  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const;
  /// How many bytes were read; fewer than asked for only at the end. Throws Error(storage).
  std::size_t read(std::uint64_t offset, std::span<char> bytes) const;
  /// Asked when a disk is full; true if there may be room now.
  void when_full(std::function<bool()> make_room) { make_room_ = std::move(make_room); }
  /// At the end; not forced to disk. Throws Error(storage).
  void write(std::string_view bytes);
  /// Forces all of it to disk. Throws Error(storage).
  void sync();
  /// What is behind so many bytes is not read any more, and goes with the next write or sync:
  /// whoever only looks changes nothing.
  void cut(std::uint64_t size);

 private:
  int opened() const;
  void rest() const;
  void drop_what_was_cut();
  [[noreturn]] void fail(int error);
  void refuse_after_failure() const;

  std::filesystem::path path_;
  bool only_read_;
  mutable std::mutex mutex_;  // one thread reads while another forces it to disk
  mutable Descriptor file_;   // none while it rests
  std::uint64_t device_ = 0, inode_ = 0;
  std::uint64_t size_ = 0;
  bool cut_ = false;     // the file is longer than that
  bool dirty_ = false;   // not all of it is on disk
  std::string failure_;  // the message of the first
  std::function<bool()> make_room_;
};

}  // namespace stap
