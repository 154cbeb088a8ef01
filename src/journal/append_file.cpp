#include "journal/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

std::string cannot(const char* verb, const fs::path& path, std::string_view why) {
  return fmt::format("cannot {} {}: {}", verb, path.string(), why);
}

// A new file's name must be on disk as well.
void sync_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (!synced) throw Error(ErrorKind::storage, cannot("write", path, std::strerror(error)));
}

}  // namespace

AppendFile::AppendFile(fs::path path, bool only_read) : path_(std::move(path)) {
  const int how = only_read ? O_RDONLY : O_RDWR | O_CREAT | O_NOFOLLOW;
  file_ = open(path_.c_str(), how | O_CLOEXEC | O_NONBLOCK, 0666);
  struct stat status {};
  if (file_ < 0 || fstat(file_, &status) != 0)
    throw Error(ErrorKind::storage,
                cannot(only_read ? "read" : "write", path_, std::strerror(errno)));
  try {
    if (!S_ISREG(status.st_mode))
      throw Error(ErrorKind::storage, cannot("write", path_, "it exists and is not a file"));
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ == 0 && !only_read) sync_folder_of(path_);
  } catch (...) {
    close(file_);
    throw;
  }
}

AppendFile::~AppendFile() {
  if (file_ >= 0) close(file_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      cut_(other.cut_),
      failure_(std::move(other.failure_)),
      make_room_(std::move(other.make_room_)) {}

bool AppendFile::lock() {
  while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    // Some file systems of clusters have no locks. Then it is the user who keeps processes apart.
    if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) return true;
    if (errno != EINTR) fail(errno);
  }
  return true;
}

std::size_t AppendFile::read(std::uint64_t offset, std::span<char> bytes) const {
  std::size_t done = 0;
  // What was cut may still be there.
  bytes = bytes.first(offset < size_ ? std::min<std::uint64_t>(bytes.size(), size_ - offset) : 0);
  while (done < bytes.size()) {
    const ssize_t n =
        pread(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(ErrorKind::storage, cannot("read", path_, std::strerror(errno)));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void AppendFile::write(std::string_view bytes) {
  refuse_after_failure();
  if (!bytes.empty()) drop_what_was_cut();
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    const int error = n < 0 ? errno : ENOSPC;
    const bool full = n <= 0 && (error == ENOSPC || error == EDQUOT);
    if (full && make_room_ && make_room_()) continue;
    if (n <= 0) fail(error);
    size_ += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void AppendFile::sync() {
  refuse_after_failure();
  drop_what_was_cut();
  if (fdatasync(file_) != 0) fail(errno);
}

void AppendFile::cut(std::uint64_t size) {
  if (size == size_) return;
  size_ = size;
  cut_ = true;
}

void AppendFile::drop_what_was_cut() {
  if (cut_ && ftruncate(file_, static_cast<off_t>(size_)) != 0) fail(errno);
  cut_ = false;
}

void AppendFile::fail(int error) {
  failure_ = cannot("write", path_, std::strerror(error));
  throw Error(ErrorKind::storage, failure_);
}

void AppendFile::refuse_after_failure() const {
  if (!failure_.empty()) throw Error(ErrorKind::storage, failure_);
}

}  // namespace stap
