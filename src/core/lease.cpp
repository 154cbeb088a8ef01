#include "core/lease.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock.json";
constexpr double kLockSilence = 30.0;  // seconds; also of locks that do not say
constexpr std::chrono::milliseconds kLookAgain{50};

[[noreturn]] void lease_failed(const char* verb, const fs::path& file, int error) {
  throw Error(ErrorKind::storage,
              fmt::format("cannot {} {}: {}", verb, file.string(), std::strerror(error)));
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Also while the machine sleeps.
double seconds_since_boot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return seconds_of(now);
}

// A folder by what a copy of it does not have: on one machine it has a number of its own.
std::string place_text(const fs::path& file) {
  struct stat status {};
  if (stat(file.has_parent_path() ? file.parent_path().c_str() : ".", &status) != 0) return {};
  return fmt::format("\"device\": {},\n \"inode\": {}", status.st_dev, status.st_ino);
}

struct Seen {
  LockHolder holder;
  std::string sign;
};

// `now`: by the clock of the file system. A file that was cut off or damaged tells nothing but its
// age. Empty: there is none.
std::optional<Seen> look_at(const fs::path& file, double now, double silence) {
  double touched = 0;
  Seen seen{{}, sign_in(file, &touched)};
  if (seen.sign.empty()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    lease_failed("read", file, errno);
  }
  const auto said = [&](const char* key) { return said_in(seen.sign, key); };
  LockHolder& holder = seen.holder;
  const Owner owner = owner_in(seen.sign);
  holder.since = said("since");
  holder.who = owner.process > 0 && !owner.host.empty() ? owner.text()
               : !said("name").empty()                  ? "process " + said("name")
                                                        : "an unknown process";
  const std::string folder =
      fmt::format("\"device\": {},\n \"inode\": {}", said("device"), said("inode"));
  holder.copied = owner.lives_here() && !said("inode").empty() && folder != place_text(file);
  holder.lives_here = owner.lives_here() && !holder.copied;
  holder.gone = owner.gone() || said("ended") == "true";  // askers of a spool once said so
  const std::string own = said("silence");
  holder.silence = 0;
  std::from_chars(own.data(), own.data() + own.size(), holder.silence);
  if (!(holder.silence > 0)) holder.silence = silence;
  if (!holder.gone && !holder.copied && !holder.lives_here)
    holder.silent = std::max(0.0, now - touched);
  return seen;
}

// Others may take its place. Its age alone does not tell, since the file system's clock may have
// jumped: it must have been watched for some time by our own.
bool is_over(const fs::path& file, Seen& seen) {
  using Seconds = std::chrono::duration<double>;
  static std::mutex mutex;
  static Signs watched;
  // When processes were found silent: they may hold other files, as silent as the one.
  static std::map<std::string, Signs::Clock::time_point> silent;
  LockHolder& holder = seen.holder;
  if (holder.gone || holder.copied) return true;
  const std::lock_guard lock(mutex);
  const auto now = Signs::Clock::now();
  const std::string who = said_in(seen.sign, "start") + holder.text(), what = who + file.string();
  watched.see(what, seen.sign, now);
  const double quiet = Seconds(watched.quiet(what, now)).count();
  const auto known = silent.find(who);
  const bool was_silent =
      known != silent.end() && Seconds(now - known->second).count() < holder.silence;
  const bool over =
      !holder.lives_here &&
      (quiet >= holder.silence || (holder.stale() && (quiet >= holder.silence / 4 || was_silent)));
  holder.moved = !over && watched.moved(what);
  if (holder.moved) holder.silent = quiet;
  if (over && !holder.since.empty()) silent[who] = now;
  if (over || holder.moved) watched.forget(what);
  return over;
}

// The file that was seen; one that another has made in the meantime is put back.
void remove_seen(const fs::path& file, const std::string& sign) {
  const fs::path aside = file.string() + pending_suffix(999);
  if (sign_in(file) != sign) return;
  if (std::rename(file.c_str(), aside.c_str()) != 0) {
    if (errno == ENOENT) return;
    lease_failed("remove", file, errno);
  }
  if (sign_in(aside) != sign && link(aside.c_str(), file.c_str()) != 0) {
    // Its owner finds out.
  }
  unlink(aside.c_str());
}

// A link to a whole file has one winner, as a new file has where there are no links. False: there
// is one.
bool make(const fs::path& file, const PendingFile& aside, const std::string& sign) {
  if (link(aside.temporary().c_str(), file.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  const int made = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (made < 0 && errno == EEXIST) return false;
  if (made < 0) lease_failed("write", file, errno);
  const bool written = write_sign(made, sign);
  const int error = errno;
  close(made);
  if (written) return true;
  unlink(file.c_str());
  lease_failed("write", file, error);
}

// The time of day of whoever keeps the times of files there: this machine or a file server.
double time_of(const PendingFile& aside) {
  struct stat status {};
  futimens(aside.file(), nullptr);
  fstat(aside.file(), &status);
  return seconds_of(status.st_mtim);
}

std::string holder_text(const fs::path& folder, const std::optional<LockHolder>& holder) {
  if (!holder || holder->gone || holder->copied)
    return fmt::format("{} is in use: another process works in this folder", folder.string());
  if (holder->lives_here) return fmt::format("{} is in use by {}", folder.string(), holder->text());
  return fmt::format(
      "{} is in use by {}, whose last sign of life was {:.0f} s ago: if it is gone, give the same "
      "command again in {:.0f} s, or at once after\n  stap unlock --force {}",
      folder.string(), holder->text(), holder->silent,
      std::max(1.0, std::ceil(holder->silence - holder->silent) + 1),
      shell_quoted(folder.string()));
}

}  // namespace

bool LockHolder::stale() const {
  return gone || copied || (!lives_here && silent > silence);
}

std::string LockHolder::text() const {
  return since.empty() ? who : fmt::format("{}, since {}", who, since);
}

std::unique_ptr<Lease> Lease::take(const fs::path& file, double silence, LockHolder& holder) {
  return take(file, silence, holder, beat_of(silence));
}

std::unique_ptr<Lease> Lease::take(const fs::path& file, double silence, LockHolder& holder,
                                   std::chrono::duration<double> beat) {
  holder = {};
  std::unique_ptr<Lease> lease(new Lease(file, silence));
  const std::string sign = lease->next_sign();
  PendingFile aside(file);
  aside.write(sign);
  for (int attempt = 0; attempt < 3; ++attempt) {
    lease->signed_ = seconds_since_boot();
    if (!make(file, aside, sign)) {
      std::optional<Seen> seen = look_at(file, time_of(aside), silence);
      if (!seen) continue;
      if (said_in(seen->sign, "name") != lease->name()) {  // else the network has lost a reply
        const bool over = is_over(file, *seen);
        holder = seen->holder;
        if (!over) return nullptr;
        lease->before_ = holder;
        remove_seen(file, seen->sign);
        continue;
      }
    }
    lease->lost_ = false;
    lease->heart_.emplace(beat, [lease = lease.get()] { lease->beat(); });
    return lease;
  }
  return nullptr;
}

Lease::Lease(fs::path file, double silence)
    : file_(std::move(file)), silence_(silence), signer_(silence), lost_(true) {}

Lease::~Lease() {
  heart_.reset();
  if (!lost_ && said_in(sign_in(file_), "name") == name()) unlink(file_.c_str());
}

std::string Lease::next_sign() {
  return signer_.next(place_text(file_));
}

// What cannot be written is a sign of life less. A file that cannot be read just now is still ours.
void Lease::beat() {
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  const double now = seconds_since_boot();
  // Opened every time: closing a file is what makes others see it where it is shared (NFS).
  const int file = open(file_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    lost_ = errno == ENOENT || errno == ENOTDIR;
    return;
  }
  errno = 0;
  const std::string there = read_sign(file);
  lost_ = said_in(there, "name") != name() && !(there.empty() && errno != 0);
  const bool written = !lost_ && write_sign(file, next_sign());
  if (close(file) == 0 && written) signed_ = now;
}

bool Lease::lost() {
  if (!lost_ && seconds_since_boot() - signed_ > silence_ / 2) beat();
  return lost_;
}

std::unique_ptr<Lease> lock_folder(const fs::path& folder) {
  for (LockHolder holder;; std::this_thread::sleep_for(kLookAgain)) {
    if (auto lease = Lease::take(folder / kLockName, kLockSilence, holder)) return lease;
    if (!holder.who.empty() && !holder.stale()) throw InUse(holder_text(folder, holder));
  }
}

std::optional<LockHolder> lock_holder(const fs::path& folder) {
  auto seen = look_at(folder / kLockName, static_cast<double>(std::time(nullptr)), kLockSilence);
  if (!seen) return std::nullopt;
  return std::move(seen->holder);
}

std::optional<LockHolder> unlock_folder(const fs::path& folder, bool forced) {
  const fs::path file = folder / kLockName;
  const auto seen = look_at(file, 0, kLockSilence);
  if (!seen) return std::nullopt;
  const LockHolder& holder = seen->holder;
  if (holder.lives_here)
    throw Error(ErrorKind::storage, fmt::format("{} is in use by {}: end that process first",
                                                folder.string(), holder.text()));
  if (!forced) return lock_folder(folder)->before();
  remove_seen(file, seen->sign);
  return holder;
}

std::string in_use_text(const fs::path& folder) {
  try {
    return holder_text(folder, lock_holder(folder));
  } catch (const Error&) {
    return holder_text(folder, std::nullopt);  // whoever it is
  }
}

bool is_lock_file(const std::string& name) {
  return name == kLockName || pending_target(name) == kLockName;
}

}  // namespace stap
