#include "core/pending_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/descriptor.h"
#include "core/owner.h"
#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "stap/core/seal.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Then our process id and a number, which begins with that of the machine: process ids of others
// say nothing here.
constexpr std::string_view kMark = ".tmp-";
constexpr std::size_t kPlaceDigits = 10;

// Empty: not known.
const std::string& place_digits() {
  static const std::string digits = [] {
    const std::string place = Owner::here().place;
    if (place == "?") return std::string();
    return fmt::format("{:010}", hash64(std::as_bytes(std::span(place))) & 0xffffffffu);
  }();
  return digits;
}

bool is_left(const fs::path& path, const std::string& name) {
  const std::string numbers = name.substr(name.rfind(kMark) + kMark.size());
  const std::size_t dash = numbers.find('-');
  const std::string place = numbers.substr(dash + 1, kPlaceDigits);
  if (place_digits().empty() || place != place_digits() ||
      numbers.size() <= dash + 1 + kPlaceDigits || dash > 9)
    return false;
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || status.st_uid != geteuid() ||
      !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
    return false;
  return kill(static_cast<pid_t>(std::stol(numbers)), 0) != 0 && errno == ESRCH;
}

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::storage, fmt::format("cannot write {}: {}", path.string(), why));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

PendingFile::PendingFile(fs::path target, mode_t most) : target_(std::move(target)) {
  std::error_code error;
  if (!target_.has_filename()) fail(target_, "expected the name of a file");
  if (!fs::is_directory(folder_of(target_), error))
    fail(target_, fmt::format("there is no folder {}", folder_of(target_).string()));
  const fs::file_status found = fs::status(target_, error);  // one look: it may go at any time
  if (fs::exists(found) && !fs::is_regular_file(found))
    fail(target_, "it exists and is not a file");
  // Who must not read what is replaced must not read what replaces it.
  struct stat there {};
  const bool replaces = stat(target_.c_str(), &there) == 0;
  const mode_t mode = (replaces ? S_IRUSR | S_IWUSR | (there.st_mode & 0066) : 0666) & most;
  static std::atomic<unsigned> counter{0};
  for (;;) {  // a name may be left over from a killed process with our id
    fs::path name = target_;
    name += pending_suffix(counter++);
    file_ = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file_ >= 0) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) fail(target_, std::strerror(errno));
  }
}

PendingFile::~PendingFile() {
  if (file_ >= 0) close(file_);
  if (temporary_.empty()) return;
  // A failure may pass; what stays is removed by who writes there next.
  for (int attempt = 0; attempt < 3 && unlink(temporary_.c_str()) != 0 && errno != ENOENT;)
    ++attempt;
}

void PendingFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(target_, std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void PendingFile::seal() {
  add_seal(file_, target_);
}

void PendingFile::check_room(std::uintmax_t bytes) const {
  // First a look, since an attempt may take all there is before it fails.
  std::error_code error;
  const fs::space_info space = fs::space(folder_of(target_), error);
  if (!error && space.available < bytes)
    fail(target_, fmt::format("it needs {} bytes, {} bytes are free", bytes, space.available));
  // Then the attempt, since quotas and limits do not show in a look.
  const int problem = posix_fallocate(file_, 0, static_cast<off_t>(bytes));
  const bool emptied = ftruncate(file_, 0) == 0;
  if (problem != 0 || !emptied)
    fail(target_, fmt::format("no room for {} bytes ({})", bytes,
                              std::strerror(problem != 0 ? problem : errno)));
}

void PendingFile::commit(bool forced) {
  if (forced && fsync(file_) != 0) fail(target_, std::strerror(errno));
  // Some file systems say only now that they could not write.
  if (close(std::exchange(file_, -1)) != 0) fail(target_, std::strerror(errno));
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(target_, std::strerror(errno));
  temporary_.clear();
  // The file is in place; only a power cut could still undo the renaming.
  if (forced) sync_names(target_);
}

std::string pending_suffix(unsigned number) {
  return fmt::format("{}{}-{}{}", kMark, getpid(), place_digits(), number);
}

void remove_leftovers_of(const fs::path& target) {
  std::vector<fs::path> left;
  std::error_code error;
  for (fs::directory_iterator at(folder_of(target), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (pending_target(name) == target.filename() && is_left(at->path(), name))
      left.push_back(at->path());
  }
  for (const fs::path& path : left) fs::remove_all(path, error);
}

void sync_names(const fs::path& target) {
  const Descriptor folder(open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() < 0 || fsync(folder.number()) != 0) fail(target, std::strerror(errno));
}

std::string pending_target(const std::string& name) {
  const std::size_t mark = name.rfind(kMark);
  if (mark == 0 || mark == std::string::npos) return {};
  const std::string_view numbers = std::string_view(name).substr(mark + kMark.size());
  const std::size_t dash = numbers.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (dash == std::string_view::npos || !is_number(numbers.substr(0, dash)) ||
      !is_number(numbers.substr(dash + 1)))
    return {};
  return name.substr(0, mark);
}

}  // namespace stap
