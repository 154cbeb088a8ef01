#include "core/private_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLock = ".lock";

[[noreturn]] void cannot_make(const fs::path& folder, const std::error_code& error) {
  throw Error(ErrorKind::storage, fmt::format("cannot make the folder {}: {}; is TMPDIR or "
                                              "solver.scratch a place that can be written?",
                                              folder.string(), error.message()));
}

// Where the system has folders for a while.
fs::path temporary_place() {
  std::error_code error;
  fs::path place = fs::temp_directory_path(error);
  if (!error) return place;
  const char* variable = std::getenv("TMPDIR");
  throw Error(
      ErrorKind::storage,
      fmt::format("there is no folder for temporary files: TMPDIR is {}: set it to one that "
                  "is there",
                  variable != nullptr ? fmt::format("'{}'", variable) : "not set"));
}

// A lock on a folder, as long as the descriptor is open; none: somebody has it, or the file system
// has no locks.
Descriptor take_lock(const fs::path& folder, int flags) {
  Descriptor file(open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  const bool taken = file.number() >= 0 && flock(file.number(), LOCK_EX | LOCK_NB) == 0;
  return taken ? std::move(file) : Descriptor();
}

std::vector<fs::path> inside(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> all;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().filename() != kLock) all.push_back(at->path());
  return all;
}

// The lock goes last: should we be killed in between, the next one still finds it.
void remove_locked(const fs::path& folder) {
  for (const fs::path& path : inside(folder)) remove_folder(path);
  remove_folder(folder);
}

// Folders of ours that nobody has locked. Where locks do not work nothing is removed.
void remove_old(const fs::path& place, const std::string& prefix) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    struct stat status {};
    const bool ours = lstat(entry.path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == geteuid();
    if (!ours) continue;
    if (const Descriptor lock = take_lock(entry.path(), 0); lock.number() >= 0) {
      remove_locked(entry.path());
    } else if (errno == ENOENT) {
      rmdir(entry.path().c_str());  // killed before it was locked, or about to be: it sees that
    }
  }
}

}  // namespace

fs::path make_private_folder(const fs::path& place, const std::string& name) {
  std::error_code error;
  const fs::path base = place.empty() ? temporary_place() : place;
  std::string path = (base / (name + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) error.assign(errno, std::generic_category());
  if (error) cannot_make(path, error);
  return path;
}

void unlock_folder(const fs::path& folder) {
  std::error_code error;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->symlink_status(error).type() == fs::file_type::directory) unlock_folder(at->path());
}

void remove_folder(const fs::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return;
  unlock_folder(folder);
  fs::remove_all(folder, error);
}

PrivateFolder::PrivateFolder(const fs::path& place, const std::string& name) {
  std::error_code error;
  const fs::path base = !place.empty() ? place : temporary_place();
  fs::create_directories(base, error);
  if (error) cannot_make(base, error);
  remove_old(base, name + "-");
  for (int attempt = 0; attempt < 10; ++attempt) {
    path_ = make_private_folder(base, fmt::format("{}-{}", name, getpid()));
    lock_ = take_lock(path_, O_CREAT);
    struct stat status {};
    if (lock_.number() >= 0 && fstat(lock_.number(), &status) == 0 && status.st_nlink > 0) return;
    // Another process may have taken it for an old one just now. Where there are no locks nobody
    // removes anything.
    if (lock_.number() < 0 && errno != ENOENT && errno != EWOULDBLOCK) return;
  }
  cannot_make(path_, std::make_error_code(std::errc::device_or_resource_busy));
}

PrivateFolder::~PrivateFolder() {
  if (!path_.empty()) remove_locked(path_);
}

void PrivateFolder::leave() {
  if (inside(path_).empty()) return;
  std::error_code ignored;
  fs::remove(path_ / kLock, ignored);
  path_.clear();
}

}  // namespace stap
