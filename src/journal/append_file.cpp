#include "journal/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/descriptors.h"
#include "core/pending_file.h"
#include "core/whole_file.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

std::string cannot(const char* verb, const fs::path& path, std::string_view why) {
  return fmt::format("cannot {} {}: {}", verb, path.string(), why);
}

std::atomic<std::size_t> open_now{0};

// For a journal and its answers, when everything else has been given away: what is paid for must
// find its files.
std::array<std::atomic<int>, 2> spares{-1, -1};

void keep_spares() {
  for (std::atomic<int>& spare : spares) {
    if (spare >= 0) continue;
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (const int before = spare.exchange(file); before >= 0) close(before);
  }
}

int open_again(const fs::path& path, int how) {
  const int file = open(path.c_str(), how | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0 || errno != EMFILE) return file;
  for (std::atomic<int>& spare : spares)
    if (const int given = spare.exchange(-1); given >= 0) {
      close(given);
      return open(path.c_str(), how | O_CLOEXEC | O_NONBLOCK);
    }
  errno = EMFILE;
  return -1;
}

}  // namespace

AppendFile::AppendFile(fs::path path, bool only_read)
    : path_(std::move(path)), only_read_(only_read) {
  const int how = only_read ? O_RDONLY : O_RDWR | O_CREAT | O_NOFOLLOW;
  file_ = Descriptor(open(path_.c_str(), how | O_CLOEXEC | O_NONBLOCK, 0666));
  struct stat status {};
  if (file_.number() < 0 || fstat(file_.number(), &status) != 0)
    throw Error(only_read ? kind_of_read_error(errno, ErrorKind::storage) : ErrorKind::storage,
                cannot(only_read ? "read" : "write", path_, std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::storage, cannot("write", path_, "it exists and is not a file"));
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ == 0 && !only_read) sync_names(path_);  // also that of a new file
  device_ = status.st_dev;
  inode_ = status.st_ino;
  ++open_now;
}

AppendFile::~AppendFile() {
  if (file_.number() >= 0) --open_now;
}

// The same file again: by its name another may be there by now.
int AppendFile::opened() const {
  if (file_.number() >= 0) return file_.number();
  Descriptor file(open_again(path_, only_read_ ? O_RDONLY : O_RDWR | O_NOFOLLOW));
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0 || status.st_dev != device_ ||
      status.st_ino != inode_)
    throw Error(
        ErrorKind::storage,
        cannot("open", path_, file.number() < 0 ? std::strerror(errno) : "it is another file now"));
  file_ = std::move(file);
  ++open_now;
  return file_.number();
}

void AppendFile::rest() const {
  if (file_.number() < 0 || dirty_ || open_now <= most_logs_open()) return;
  file_ = Descriptor();
  --open_now;
  keep_spares();
}

std::uint64_t AppendFile::size() const {
  const std::lock_guard held(mutex_);
  return size_;
}

bool AppendFile::lock() {
  const std::lock_guard held(mutex_);
  while (flock(opened(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    // Some file systems of clusters have no locks. Then it is the user who keeps processes apart.
    if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) return true;
    if (errno != EINTR) fail(errno);
  }
  return true;
}

std::size_t AppendFile::read(std::uint64_t offset, std::span<char> bytes) const {
  const std::lock_guard held(mutex_);
  std::size_t done = 0;
  // What was cut may still be there.
  bytes = bytes.first(offset < size_ ? std::min<std::uint64_t>(bytes.size(), size_ - offset) : 0);
  while (done < bytes.size()) {
    const ssize_t n = pread(opened(), bytes.data() + done, bytes.size() - done,
                            static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(ErrorKind::storage, cannot("read", path_, std::strerror(errno)));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  rest();
  return done;
}

void AppendFile::write(std::string_view bytes) {
  const std::lock_guard held(mutex_);
  refuse_after_failure();
  dirty_ = dirty_ || !bytes.empty();
  if (!bytes.empty()) drop_what_was_cut();
  while (!bytes.empty()) {
    const ssize_t n = pwrite(opened(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
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
  const std::lock_guard held(mutex_);
  refuse_after_failure();
  drop_what_was_cut();
  if (fdatasync(opened()) != 0) fail(errno);
  dirty_ = false;
  rest();
}

void AppendFile::cut(std::uint64_t size) {
  const std::lock_guard held(mutex_);
  if (size == size_) return;
  size_ = size;
  cut_ = true;
}

void AppendFile::drop_what_was_cut() {
  if (!cut_) return;
  dirty_ = true;
  if (ftruncate(opened(), static_cast<off_t>(size_)) != 0) fail(errno);
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
