#include "couple/process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/owner.h"
#include "couple/belongings.h"
#include "couple/warden.h"
#include "couple/warden_start.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// A stopped warden is looked at more often, one that was told to end something, too.
constexpr std::chrono::milliseconds kLookStopped{25}, kLookTold{100};
constexpr int kStopsMost = 20;                         // then somebody keeps stopping it
constexpr int kTriesToTake = 2000, kTriesToWait = 10;  // for a warden to be gone
constexpr int kBlowsMost = 1;                          // of SIGKILL: then nobody waits for it
constexpr int kLooksAtDropped = 100;                   // a millisecond apart
// Seconds beyond the grace in which the warden ends what it is told to end, on a busy machine.
constexpr double kPatienceWithWarden = 8.0;

// A descriptor that is closed in the end. Never 0, 1 or 2, which it could be where this process has
// closed those: they are made anew in the other one.
struct Owned {
  int fd = -1;
  explicit Owned(int descriptor) : fd(descriptor) {
    if (fd < 0) cannot_start("no descriptor is free", errno);
    if (fd > 2) return;
    fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    const int error = errno;
    close(descriptor);
    if (fd < 0) cannot_start("no descriptor is free", error);
  }
  ~Owned() {
    if (fd >= 0) close(fd);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  int release() { return std::exchange(fd, -1); }
};

enum class Warden { runs, stopped, exited, killed };

// Its end is not taken yet, so that its number stays its own.
Warden look_at_warden(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD ? Warden::exited : Warden::runs;  // others take all children's ends
  if (info.si_pid == 0) return Warden::runs;
  if (info.si_code == CLD_EXITED) return Warden::exited;
  return info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED ? Warden::killed
                                                                  : Warden::stopped;
}

// Wardens that had not ended when nobody wanted to know any more: ours to take when they have, and
// to end with all that is theirs if they are stopped meanwhile.
struct Dropped {
  pid_t warden;
  std::string mark;
};
std::mutex dropped_lock;
std::vector<Dropped> dropped;

void drop(pid_t warden, const std::string& mark) {
  const std::lock_guard lock(dropped_lock);
  dropped.push_back({warden, mark});
}

bool is_dropped(pid_t warden) {
  const std::lock_guard lock(dropped_lock);
  return std::ranges::find(dropped, warden, &Dropped::warden) != dropped.end();
}

void take_dropped() {
  const std::lock_guard lock(dropped_lock);
  for (const Dropped& one : dropped)
    if (look_at_warden(one.warden) == Warden::stopped) kill_belongings(one.warden, one.mark);
  std::erase_if(dropped,
                [](const Dropped& one) { return waitpid(one.warden, nullptr, WNOHANG) != 0; });
}

// It has nothing to do any more and is about to end, unless somebody has stopped it.
void take_warden(pid_t pid, const std::string& mark) {
  for (int tries = 0; tries < kTriesToTake; ++tries) {
    if (waitpid(pid, nullptr, WNOHANG) != 0) return;
    if (tries > kTriesToWait) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  drop(pid, mark);
}

// True if it has come. An error of the system may pass at once.
bool receive(int socket, WardenReport& report, bool& hung_up) {
  for (int tries = 0; tries < 3; ++tries) {
    const ssize_t n = recv(socket, &report, sizeof report, MSG_DONTWAIT);
    if (n == sizeof report) return true;
    hung_up = n == 0;
    if (n >= 0 || errno == EAGAIN) return false;
  }
  return false;
}

Ending ending_of(const WardenReport& report) {
  Ending ending{.code = report.code,
                .signal = report.signal,
                .start_error = report.start_error,
                .left_behind = static_cast<std::size_t>(report.left_behind),
                .seconds = static_cast<double>(report.microseconds) * 1e-6,
                .memory_peak = static_cast<std::uint64_t>(report.memory_peak_kib) * 1024};
  if (report.short_of != 0) ending.lack = lack_text("no process can be made", report.short_of);
  return ending;
}

}  // namespace

bool Ending::by_force() const {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGHUP;
}

void Ending::check_lack() const {
  if (!lack.empty()) throw Error(ErrorKind::storage, lack);
}

std::string Ending::text() const {
  if (!lack.empty()) return lack;
  if (start_error != 0)
    return fmt::format("cannot be started: {}", std::generic_category().message(start_error));
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit code {}", code);
}

Process::Process(const Launch& launch) {
  if (launch.argv.empty()) throw Error(ErrorKind::config, "no program was named to be started");
  take_dropped();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    cannot_start("no socket can be made", errno);
  Owned ours(ends[0]);
  const Owned theirs(ends[1]);
  const auto stream = [](int given) {
    return given >= 0 ? fcntl(given, F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_RDWR | O_CLOEXEC);
  };
  const Owned in(stream(launch.in)), out(stream(launch.out)), err(stream(launch.err));
  const int streams[3] = {in.fd, out.fd, err.fd};
  life_.mark = "STAP_STARTED_BY=" + Owner::unique_name();
  life_.grace = launch.grace;
  std::vector<std::string> added = launch.env;
  added.push_back(life_.mark);
  life_.warden = start_warden(launch, added, theirs.fd, streams);
  control_ = ours.release();
}

Process::~Process() {
  if (control_ < 0) return;
  close(control_);  // the warden hears it
  if (!life_.ending) drop(life_.warden, life_.mark);
  // A program that stops its warden mostly does so at once; the warden is looked at again whenever
  // a process is started or dropped.
  for (int looks = 0; looks < kLooksAtDropped; ++looks) {
    take_dropped();
    if (life_.ending || !is_dropped(life_.warden)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Process::Process(Process&& other) noexcept
    : control_(std::exchange(other.control_, -1)), life_(std::exchange(other.life_, {})) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(control_, other.control_);
  std::swap(life_, other.life_);
  return *this;
}

std::optional<Ending> Process::ended() {
  if (life_.ending) return life_.ending;
  const Warden warden =
      look_at_warden(life_.warden);  // first: what it said before it ended is there
  const bool gone = warden == Warden::exited || warden == Warden::killed;
  WardenReport report;
  bool hung_up = false;
  Ending ending;
  if (receive(control_, report, hung_up)) {
    ending = ending_of(report);
    if (report.in_vain != 0) kill_belongings(life_.warden, life_.mark);
  } else if (gone) {
    // Somebody has ended it, and the program with it, but not what that has started; or it could
    // not say how the program has ended.
    kill_belongings(life_.warden, life_.mark);
    if (warden == Warden::killed)
      ending.signal = SIGKILL;
    else
      ending.lack = lack_text("a helper process has ended without a report", EIO);
  } else {
    look_after_warden(warden == Warden::stopped, hung_up);
    if (life_.blows <= kBlowsMost) return std::nullopt;
    ending.signal = SIGKILL;
  }
  take_warden(life_.warden, life_.mark);
  life_.due = Clock::time_point::max();
  life_.ending = std::move(ending);
  return life_.ending;
}

// The program may stop its warden, or keep stopping it: then all of it is ended without.
void Process::look_after_warden(bool stopped, bool hung_up) {
  const auto now = Clock::now();
  life_.due = Clock::time_point::max();
  if (life_.heard_by != life_.due) life_.due = now + kLookTold;
  if (stopped) {
    ++life_.stops;
    kill(life_.warden, SIGCONT);
    life_.due = now + kLookStopped;
  }
  if (life_.stops <= kStopsMost && !hung_up && now < life_.heard_by) return;
  ++life_.blows;
  kill_belongings(life_.warden, life_.mark);
  life_.due = now + kLookTold;
}

void Process::leave() {
  tell(kWardenLeave);
}

void Process::end(bool now) {
  tell(now ? kWardenKill : kWardenEnd);
}

void Process::tell(char order) {
  if (life_.ending) return;
  const double grace = order == kWardenKill ? 0.0 : std::min(life_.grace, 1e6);
  const auto patience = std::chrono::duration<double>(grace + kPatienceWithWarden);
  const auto by = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  life_.heard_by = std::min(life_.heard_by, by);
  life_.due = std::min(life_.due, Clock::now() + kLookTold);
  // It may have ended by itself: then its report is there.
  for (int tries = 0; tries < 3; ++tries)
    if (send(control_, &order, 1, MSG_NOSIGNAL) > 0 || errno == EPIPE) return;
}

}  // namespace stap
