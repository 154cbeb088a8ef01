#include "couple/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "couple/warden.h"
#include "stap/core/error.h"

extern char** environ;

namespace stap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot(const char* what, int error) {
  throw Error(ErrorKind::unavailable, fmt::format("{}: {}; fewer slots may help", what,
                                                  std::generic_category().message(error)));
}

// Where the warden's program lies; empty: a fork of ours must do. It is beside the program that
// uses it, or where it is installed; the test programs are one folder below.
const std::string& warden_program() {
  static const std::string found = [] {
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const char* place : {"stap-warden", "../libexec/stap/stap-warden", "../stap-warden"})
      if (const fs::path path = folder / place; access(path.c_str(), X_OK) == 0)
        return path.string();
    return std::string();
  }();
  return found;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Ours, and what is added: the last one of a name counts.
std::vector<std::string> environment(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || name_of(other) == name_of(*entry);
    if (!replaced) all.emplace_back(*entry);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

// A descriptor that is closed in the end. Never 0, 1 or 2, which it could be where this process has
// closed those: they are made anew in the other one.
struct Owned {
  int fd = -1;
  explicit Owned(int descriptor) : fd(descriptor) {
    if (fd < 0 || fd > 2) return;
    fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    close(descriptor);
  }
  ~Owned() {
    if (fd >= 0) close(fd);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  int release() { return std::exchange(fd, -1); }
};

// Wardens that had not ended when nobody wanted to know any more: ours to take when they have.
std::mutex dropped_lock;
std::vector<pid_t> dropped;

void take_dropped() {
  const std::lock_guard lock(dropped_lock);
  std::erase_if(dropped, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

// Kills what is in a session whose leader, a warden, has ended but was not taken yet, so that its
// number is nobody else's.
void kill_session(pid_t leader) {
  constexpr int kRounds = 20;  // while one is killed it may make another one
  bool found = true;
  for (int round = 0; found && round < kRounds; ++round) {
    found = false;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 1 || pid == leader || getsid(pid) != leader) continue;
      found = kill(pid, SIGKILL) == 0 || found;
    }
  }
}

// The program is small, so that many are cheap, and posix_spawn copies nothing of this process.
int spawn_warden(const Launch& launch, int socket, const int (&streams)[3]) {
  std::vector<std::string> words{"stap-warden", std::to_string(socket),
                                 std::to_string(static_cast<long>(launch.grace * 1000)),
                                 std::to_string(launch.file_bytes_most)};
  words.insert(words.end(), launch.argv.begin(), launch.argv.end());
  std::vector<std::string> env = environment(launch.env);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int stream = 0; stream < 3; ++stream)
    posix_spawn_file_actions_adddup2(&actions, streams[stream], stream);
  posix_spawn_file_actions_adddup2(&actions, socket, socket);  // it is not closed then
  if (!launch.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, launch.folder.c_str());
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, warden_program().c_str(), &actions, &attributes,
                                pointers(words).data(), pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) cannot("no process can be started", error);
  return pid;
}

// The same in a fork of this process. Between fork and exec only system calls are made.
int fork_warden(const Launch& launch, int socket, const int (&streams)[3]) {
  std::vector<std::string> words = launch.argv, env = environment(launch.env);
  const std::vector<char*> argv = pointers(words), envp = pointers(env);
  const pid_t pid = fork();
  if (pid < 0) cannot("no process can be made", errno);
  if (pid > 0) return pid;
  setsid();
  for (int stream = 0; stream < 3; ++stream) dup2(streams[stream], stream);
  if (!launch.folder.empty() && chdir(launch.folder.c_str()) != 0) _exit(126);
  environ = const_cast<char**>(envp.data());
  _exit(keep_watch(socket, argv.data(), static_cast<long>(launch.grace * 1000),
                   launch.file_bytes_most));
}

}  // namespace

bool Ending::by_force() const {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGHUP;
}

std::string Ending::text() const {
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
    cannot("no socket can be made", errno);
  Owned ours(ends[0]);
  const Owned theirs(ends[1]);
  const auto stream = [](int given) {
    return given >= 0 ? fcntl(given, F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_RDWR | O_CLOEXEC);
  };
  const Owned in(stream(launch.in)), out(stream(launch.out)), err(stream(launch.err));
  for (const int fd : {ours.fd, theirs.fd, in.fd, out.fd, err.fd})
    if (fd < 0) cannot("no descriptor is free", errno);
  const int streams[3] = {in.fd, out.fd, err.fd};
  warden_ = launch.by_fork || warden_program().empty() ? fork_warden(launch, theirs.fd, streams)
                                                       : spawn_warden(launch, theirs.fd, streams);
  control_ = ours.release();
}

Process::~Process() {
  if (control_ < 0) return;
  close(control_);  // the warden hears it
  if (warden_ > 0) {
    const std::lock_guard lock(dropped_lock);
    dropped.push_back(warden_);
  }
  take_dropped();
}

Process::Process(Process&& other) noexcept
    : control_(std::exchange(other.control_, -1)),
      warden_(std::exchange(other.warden_, -1)),
      ending_(other.ending_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(control_, other.control_);
  std::swap(warden_, other.warden_);
  std::swap(ending_, other.ending_);
  return *this;
}

std::optional<Ending> Process::ended() {
  if (ending_) return ending_;
  WardenReport report;
  const ssize_t n = recv(control_, &report, sizeof report, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  Ending ending;
  if (n == sizeof report) {
    ending = {report.code,
              report.signal,
              report.start_error,
              static_cast<std::size_t>(report.left_behind),
              static_cast<double>(report.microseconds) * 1e-6,
              static_cast<std::uint64_t>(report.memory_peak_kib) * 1024};
  } else {
    // Somebody has ended the warden, and the program with it, but not what that has started.
    ending.signal = SIGKILL;
    waitid(P_PID, static_cast<id_t>(warden_), nullptr, WEXITED | WNOWAIT);
    kill_session(warden_);
  }
  waitpid(std::exchange(warden_, -1), nullptr, 0);
  ending_ = ending;
  return ending_;
}

void Process::leave() {
  if (!ending_) tell(kWardenLeave);
}

void Process::end(bool now) {
  if (!ending_) tell(now ? kWardenKill : kWardenEnd);
}

void Process::tell(char order) {
  // It may have ended by itself: then its report is there.
  if (send(control_, &order, 1, MSG_NOSIGNAL) < 0) return;
}

}  // namespace stap
