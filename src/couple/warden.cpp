#include "couple/warden.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <initializer_list>

#include "core/shortage.h"

namespace stap {
namespace {

// What leaves in this time by itself was not left behind; then it is asked to, then made to.
constexpr long kLeaveMs = 200, kAskMs = 1000, kAgainMs = 20;
constexpr long kPartMs = 2000;       // to leave by itself, when it was told to
constexpr long kGoneGraceMs = 8000;  // when nobody waits for it any more
constexpr long kInVainMs = 10000;    // of SIGKILL: then nobody shall wait for it
constexpr int kTriesToTell = 3;
constexpr unsigned kUnwatchedUs = 10000;  // between two looks where nothing can be waited for

std::int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

long now_ms() {
  return static_cast<long>(now_us() / 1000);
}

// Signals as a program expects them: those that we ignore would stay ignored.
void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Closes the descriptors first .. last.
void close_all(int first, int last) {
  if (first > last) return;
  if (syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0U) == 0)
    return;
  rlimit limit{};  // before Linux 5.9
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < static_cast<rlim_t>(last)) last = static_cast<int>(limit.rlim_cur);
  for (int fd = first; fd <= last; ++fd) close(fd);
}

void set_limit(int resource, std::uint64_t most) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  if (limit.rlim_max == RLIM_INFINITY || most < limit.rlim_max) limit.rlim_cur = most;
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Sends a signal to every child, the adopted ones among them; how many there are. SIGKILL also to
// the group of each: a process that makes another one and ends would be gone before we have heard
// of it, but between the processes of a group none can be made. A group with one of ours in it has
// none of anybody else's: nobody can join it from another session.
int signal_children(int signal) {
  const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char buffer[4096];
  int count = 0;
  pid_t pid = 0;
  for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else if (pid > 0) {
        kill(pid, signal);
        if (signal == SIGKILL)
          if (const pid_t group = getpgid(pid); group > 1 && group != getpgrp())
            kill(-group, signal);
        ++count;
        pid = 0;
      }
    }
  close(file);
  return count;
}

class Watch {
 public:
  Watch(int socket, long grace_ms) : socket_(socket), grace_ms_(grace_ms) {}

  // What the system did not give says nothing about the program.
  void lack(int error) { report_.short_of = error; }

  void start(char* const* argv, std::uint64_t file_bytes_most) {
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, nullptr);
    signals_ = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    int failure[2];
    if (signals_ < 0 || pipe2(failure, O_CLOEXEC) != 0) return lack(errno);
    const pid_t self = getpid();
    started_us_ = now_us();
    program_ = fork();
    if (program_ == 0) {
      // Should we be killed ourselves, at least the program goes with us.
      int error = 0;
      if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) error = EAGAIN;
      if (getppid() != self) _exit(127);
      set_limit(RLIMIT_CORE, 0);
      if (file_bytes_most > 0) set_limit(RLIMIT_FSIZE, file_bytes_most);
      close(socket_);
      reset_signals();
      if (error == 0) execvp(argv[0], argv);
      if (error == 0) error = errno;
      while (write(failure[1], &error, sizeof error) < 0 && errno == EINTR) {
      }
      _exit(127);
    }
    if (program_ < 0) lack(errno);
    // Whoever reads what the program writes must see its end.
    for (int stream = 0; stream < 3; ++stream) close(stream);
    close(failure[1]);
    int error = 0;
    ssize_t n = 0;
    do n = read(failure[0], &error, sizeof error);
    while (n < 0 && errno == EINTR);
    if (n < 0) {  // nobody knows whether it was started
      lack(errno);
      grace_ms_ = 0;
      ask_to_end();
    } else if (n == sizeof error) {
      if (is_shortage(error))
        lack(error);
      else
        report_.start_error = error;
    }
    close(failure[0]);
  }

  // Until nothing is left, or nothing but what the kernel holds (a file system that is gone).
  void stay() {
    while (reap() && !in_vain()) {
      pollfd wanted[2] = {{gone_ ? -1 : socket_, POLLIN, 0}, {signals_, POLLIN, 0}};
      if (poll(wanted, 2, wait_ms()) < 0 && errno != EINTR) usleep(kUnwatchedUs);
      signalfd_siginfo info;
      while (read(signals_, &info, sizeof info) > 0) {
      }
      listen();
      press();
    }
    if (program_ <= 0 || program_ended_) return;
    if (!in_vain()) return lack(ECHILD);  // somebody has taken its end
    report_.signal = SIGKILL;
    report_.in_vain = 1;
  }

  const WardenReport& report() const { return report_; }
  bool alone() const { return gone_; }

 private:
  // Takes what has ended; false if there is no child any more.
  bool reap() {
    for (;;) {
      int status = 0;
      rusage usage{};
      const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
      if (pid == 0) return true;
      if (pid < 0) {
        if (errno == EINTR) continue;
        return errno != ECHILD;
      }
      if (usage.ru_maxrss > report_.memory_peak_kib) report_.memory_peak_kib = usage.ru_maxrss;
      if (pid != program_) continue;
      if (report_.start_error == 0) {
        report_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        report_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      }
      program_ended_ = true;
      report_.microseconds = now_us() - started_us_;
      if (stage_ == Stage::killing) continue;  // the time to ask is over for all of it
      next_ms_ = now_ms() + kLeaveMs;
      stage_ = Stage::leaving;
    }
  }

  bool in_vain() const {
    return stage_ == Stage::killing && now_ms() - killing_since_ms_ > kInVainMs;
  }

  void listen() {
    if (gone_) return;
    char order = 0;
    const ssize_t n = recv(socket_, &order, 1, MSG_DONTWAIT);
    if (n < 0) return;  // an error passes; that nobody is there any more is the socket's end
    if (n == 0) {
      gone_ = true;
      if (grace_ms_ > kGoneGraceMs) grace_ms_ = kGoneGraceMs;
    }
    if (n > 0 && order == kWardenKill) grace_ms_ = 0;
    if (n > 0 && order == kWardenLeave && stage_ == Stage::running) {
      stage_ = Stage::parting;
      next_ms_ = now_ms() + kPartMs;
    } else if (stage_ == Stage::running || (stage_ == Stage::parting && n > 0)) {
      ask_to_end();
    } else if (grace_ms_ == 0) {
      next_ms_ = now_ms();
    }
  }

  // The launcher first, and never with SIGKILL first: it takes its ranks along.
  void ask_to_end() {
    if (grace_ms_ > 0) kill(program_, SIGTERM);
    stage_ = Stage::ending;
    next_ms_ = now_ms() + grace_ms_;
  }

  void press() {
    if (stage_ == Stage::running || now_ms() < next_ms_) return;
    switch (stage_) {
      case Stage::parting:
        return ask_to_end();
      case Stage::leaving:
        report_.left_behind = signal_children(SIGTERM);
        stage_ = Stage::asked;
        next_ms_ = now_ms() + (grace_ms_ < kAskMs ? grace_ms_ : kAskMs);
        return;
      case Stage::running:
        return;
      case Stage::ending:
      case Stage::asked:
      case Stage::killing:
        // Children of what is killed become ours, and their turn comes.
        if (signal_children(SIGKILL) == 0 && !program_ended_) kill(-program_, SIGKILL);
        if (stage_ != Stage::killing) killing_since_ms_ = now_ms();
        stage_ = Stage::killing;
        next_ms_ = now_ms() + kAgainMs;
        return;
    }
  }

  int wait_ms() const {
    if (stage_ == Stage::running) return -1;
    const long left = next_ms_ - now_ms();
    return left > 0 ? static_cast<int>(left) : 0;
  }

  enum class Stage { running, parting, ending, leaving, asked, killing };

  int socket_;
  long grace_ms_;
  int signals_ = -1;
  pid_t program_ = -1;
  Stage stage_ = Stage::running;
  std::int64_t started_us_ = 0;
  long next_ms_ = 0;  // when something is to be done
  long killing_since_ms_ = 0;
  bool program_ended_ = false, gone_ = false;
  WardenReport report_;
};

}  // namespace

bool send_report(int socket, const WardenReport& report) {
  for (int tries = 0; tries < kTriesToTell; ++tries)
    if (send(socket, &report, sizeof report, MSG_NOSIGNAL) == sizeof report) return true;
  return false;
}

int keep_watch(int socket, char* const* argv, long grace_ms, std::uint64_t file_bytes_most) {
  const auto handle = [](int signal, void (*how)(int)) {
    struct sigaction action {};
    action.sa_handler = how;
    sigaction(signal, &action, nullptr);
  };
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    handle(signal, SIG_IGN);
  handle(SIGCHLD, SIG_DFL);  // ignored, as some shells leave it, nobody would learn how it ended
  // Files that others opened are no business of the program's.
  close_all(3, socket - 1);
  close_all(socket + 1, INT_MAX);
  prctl(PR_SET_NAME, "stap-warden");
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // who has stopped us must not keep us once nobody else looks
  Watch watch(socket, grace_ms);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0)
    watch.start(argv, file_bytes_most);
  else
    watch.lack(errno);
  watch.stay();
  return send_report(socket, watch.report()) ? 0 : 1;
}

}  // namespace stap
