#include "journal/folder_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/owner.h"
#include "core/pending_file.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kLockName = "lock.json";
constexpr const char* kLockFormat = "lock/1";
constexpr std::chrono::seconds kBeat{5};
constexpr double kMostSilent = 30.0;  // seconds

[[noreturn]] void lock_failed(const char* verb, const fs::path& file, int error) {
  throw Error(ErrorKind::storage,
              fmt::format("cannot {} {}: {}", verb, file.string(), std::strerror(error)));
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> text{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%F %T UTC", &parts);
  return text.data();
}

// A folder by what a copy of it does not have.
struct Place {
  std::size_t device = 0, inode = 0;
  bool operator==(const Place&) const = default;
};
std::optional<Place> place_of(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return std::nullopt;
  return Place{static_cast<std::size_t>(status.st_dev), static_cast<std::size_t>(status.st_ino)};
}

std::string lock_text(const Owner& owner, const fs::path& folder) {
  Value value;
  value.set("format", kLockFormat);
  value.set("host", owner.host);
  value.set("process", static_cast<std::size_t>(owner.process));
  value.set("since", now_text());
  value.set("place", owner.place);
  value.set("machine", owner.machine);
  value.set("start", owner.start);
  if (const std::optional<Place> place = place_of(folder)) {
    value.set("device", place->device);
    value.set("inode", place->inode);
  }
  return config::json_text(value, 1) + "\n";
}

// A file beside the lock, named as temporary ones of it are.
struct Aside {
  fs::path path;
  int descriptor = -1;

  explicit Aside(const fs::path& lock) {
    for (unsigned number = 0; descriptor < 0; ++number) {
      path = fmt::format("{}.tmp-{}-{}", lock.string(), getpid(), number);
      descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor < 0 && errno != EEXIST) lock_failed("write", lock, errno);
    }
  }
  ~Aside() {
    if (!path.empty()) unlink(path.c_str());
    if (descriptor >= 0) close(descriptor);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
};

double touched(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return 0.0;
  return static_cast<double>(status.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

// The time of day of whoever keeps the times of files there: this machine or a file server.
double time_beside(const fs::path& lock) {
  try {
    return touched(Aside(lock).descriptor);
  } catch (const Error&) {
    return static_cast<double>(std::time(nullptr));
  }
}

// One that was cut off or damaged tells nothing but its age.
void read_lock(const fs::path& file, LockHolder& holder) {
  try {
    const Value value = read_json(file);
    const auto text = [&](const char* key) { return field<std::string>(value, key, file); };
    const Owner owner{text("host"), text("place"), text("machine"),
                      field<int>(value, "process", file), text("start")};
    holder.who = owner.text();
    holder.since = text("since");
    // On this machine folders have one number each: with another one this is a copy of the folder
    // that it works in.
    const auto there = place_of(file.parent_path());
    if (there && value.find("inode") != nullptr)
      holder.copied =
          owner.lives_here() && Place{field<std::size_t>(value, "device", file),
                                      field<std::size_t>(value, "inode", file)} != *there;
    holder.lives_here = owner.lives_here() && !holder.copied;
    holder.gone = owner.gone();
  } catch (const Error&) {
    holder.who = "an unknown process";
  }
}

// The file that was judged; one that another has made in the meantime is put back.
void remove_judged(const fs::path& file, ino_t judged) {
  const fs::path aside = fmt::format("{}.tmp-{}-{}", file.string(), getpid(), 999);
  struct stat status {};
  if (std::rename(file.c_str(), aside.c_str()) != 0) return;
  if (stat(aside.c_str(), &status) == 0 && status.st_ino != judged &&
      link(aside.c_str(), file.c_str()) != 0) {
    // Its owner finds out.
  }
  unlink(aside.c_str());
}

struct Judged {
  LockHolder holder;
  ino_t inode = 0;
};

enum class Ask { file_system, clock };  // what time it is

std::optional<Judged> judge(const fs::path& file, Ask ask = Ask::file_system) {
  // Opened, since only that makes a file server say when it was last touched.
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    lock_failed("read", file, errno);
  }
  Judged judged;
  struct stat status {};
  if (fstat(descriptor, &status) == 0) judged.inode = status.st_ino;
  const double then = touched(descriptor);
  close(descriptor);
  read_lock(file, judged.holder);
  if (!judged.holder.gone && !judged.holder.copied && !judged.holder.lives_here)
    judged.holder.silent = std::max(
        0.0,
        (ask == Ask::clock ? static_cast<double>(std::time(nullptr)) : time_beside(file)) - then);
  return judged;
}

// Until whoever comes may take its place.
double seconds_left(const LockHolder& holder) {
  return std::max(1.0, std::ceil(kMostSilent - holder.silent) + 1);
}

// Touches all locks of this process.
class Heart {
 public:
  static Heart& of_process() {
    static Heart heart;
    return heart;
  }

  void add(FolderLock* lock) {
    const std::lock_guard guard(mutex_);
    locks_.push_back(lock);
    if (thread_.joinable()) return;
    over_ = false;
    thread_ = std::thread([this] {
      std::unique_lock inner(mutex_);
      while (!wake_.wait_for(inner, kBeat, [this] { return over_; }))
        for (FolderLock* one : locks_) one->beat();
    });
  }

  void remove(FolderLock* lock) {
    std::thread ended;
    {
      const std::lock_guard guard(mutex_);
      std::erase(locks_, lock);
      if (!locks_.empty()) return;
      over_ = true;
      ended = std::exchange(thread_, {});
    }
    wake_.notify_all();
    if (ended.joinable()) ended.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<FolderLock*> locks_;
  std::thread thread_;
  bool over_ = false;
};

}  // namespace

bool LockHolder::stale() const {
  return gone || copied || (!lives_here && silent > kMostSilent);
}

std::string LockHolder::text() const {
  return since.empty() ? who : fmt::format("{}, since {}", who, since);
}

std::optional<LockHolder> lock_holder(const fs::path& folder) {
  std::optional<Judged> judged = judge(folder / kLockName);
  if (!judged) return std::nullopt;
  return std::move(judged->holder);
}

std::optional<LockHolder> lock_holder_seen(const fs::path& folder) {
  std::optional<Judged> judged = judge(folder / kLockName, Ask::clock);
  if (!judged) return std::nullopt;
  return std::move(judged->holder);
}

std::optional<LockHolder> unlock_folder(const fs::path& folder, bool forced) {
  const std::optional<Judged> judged = judge(folder / kLockName);
  if (!judged) return std::nullopt;
  const LockHolder& holder = judged->holder;
  if (holder.lives_here)
    throw Error(ErrorKind::storage, fmt::format("{} is in use by {}: end that process first",
                                                folder.string(), holder.text()));
  if (!holder.stale() && !forced)
    throw Error(
        ErrorKind::storage,
        fmt::format("{} is in use by {}, whose last sign of life was {:.0f} s ago: if it is "
                    "gone, wait another {:.0f} s or say --force",
                    folder.string(), holder.text(), holder.silent, seconds_left(holder)));
  remove_judged(folder / kLockName, judged->inode);
  return holder;
}

std::string in_use_text(const fs::path& folder) {
  std::optional<LockHolder> holder;
  try {
    holder = lock_holder(folder);
  } catch (const Error&) {
    // In use, whoever it is.
  }
  if (!holder || holder->gone || holder->copied)
    return fmt::format("{} is in use: another process works in this folder", folder.string());
  if (holder->lives_here) return fmt::format("{} is in use by {}", folder.string(), holder->text());
  return fmt::format(
      "{} is in use by {}, whose last sign of life was {:.0f} s ago: if it is gone, give the same "
      "command again in {:.0f} s, or at once after\n  stap unlock --force {}",
      folder.string(), holder->text(), holder->silent, seconds_left(*holder),
      shell_quoted(folder.string()));
}

FolderLock::FolderLock(const fs::path& folder) : file_(folder / kLockName) {
  Aside made(file_);
  const std::string text = lock_text(Owner::here(), folder);
  if (::write(made.descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    lock_failed("write", file_, errno != 0 ? errno : ENOSPC);
  // Unlike a new name, a link has one winner. Where there are none, the file system's lock must do.
  for (int attempt = 0; link(made.path.c_str(), file_.c_str()) != 0; ++attempt) {
    if (errno != EEXIST && std::rename(made.path.c_str(), file_.c_str()) == 0) break;
    if (errno != EEXIST || attempt == 3) lock_failed("write", file_, errno);
    const std::optional<Judged> judged = judge(file_);
    if (!judged) continue;
    if (!judged->holder.stale()) throw InUse(in_use_text(folder));
    if (!judged->holder.copied) before_ = judged->holder;
    remove_judged(file_, judged->inode);
  }
  descriptor_ = std::exchange(made.descriptor, -1);
  Heart::of_process().add(this);
}

FolderLock::~FolderLock() {
  Heart::of_process().remove(this);
  if (is_ours()) unlink(file_.c_str());
  close(descriptor_);
}

void FolderLock::beat() {
  if (futimens(descriptor_, nullptr) != 0) return;  // a sign of life less
  lost_ = !is_ours();
}

// A file that cannot be looked at just now is still ours.
bool FolderLock::is_ours() const {
  struct stat own {
  }, there{};
  if (fstat(descriptor_, &own) != 0) return false;
  if (stat(file_.c_str(), &there) != 0) return errno != ENOENT;
  return own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

bool is_lock_file(const std::string& name) {
  return name == kLockName || pending_target(name) == kLockName;
}

}  // namespace stap
