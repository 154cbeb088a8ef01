#include "data/child_read.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "data/child_limits.h"
#include "data/hdf5.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"

namespace stap::h5 {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBuffer = 1 << 16;
constexpr int kPipe = 1 << 20;
// Of things around the values, which are counted, too.
constexpr std::uint64_t kSlack = std::uint64_t{16} << 20;
// On the clock, for slow disks; a child that computes has less (child_limits.h).
constexpr std::uint64_t kSecondsToWait = 120, kSlowestBytesPerSecond = std::uint64_t{1} << 20;

enum class Told : char { value, error };

bool in_child = false;
thread_local const fs::path* trusted = nullptr;

[[noreturn]] void damaged(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::data,
              fmt::format("{}: {}: it is damaged or hostile", path.string(), what));
}

class SendingWire : public Wire {
 public:
  explicit SendingWire(int fd) : fd_(fd) { buffer_.reserve(kBuffer); }
  bool sending() const override { return true; }
  void bytes(void* data, std::size_t size) override {
    if (buffer_.size() + size > kBuffer) flush();
    if (size > kBuffer)
      write_out(static_cast<const char*>(data), size);
    else
      buffer_.append(static_cast<const char*>(data), size);
  }
  void count(std::size_t& things, std::size_t) override { bytes(&things, sizeof things); }
  void refuse() const override { _exit(1); }
  void flush() {
    write_out(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

 private:
  void write_out(const char* from, std::size_t size) const {
    while (size > 0) {
      const ssize_t n = write(fd_, from, size);
      if (n <= 0) _exit(1);  // nobody listens
      from += n;
      size -= static_cast<std::size_t>(n);
    }
  }

  int fd_;
  std::string buffer_;
};

// The other process and the pipe from it; both are gone when this is.
class Child {
 public:
  Child(const fs::path& path, std::uint64_t bytes) : path_(path) {
    seconds_ = kSecondsToWait + bytes / kSlowestBytesPerSecond;
    deadline_ = Clock::now() + std::chrono::seconds(seconds_);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) cannot("no pipe", errno);
    from_ = ends[0];
    fcntl(from_, F_SETPIPE_SZ, kPipe);  // fewer turns of the two; where not, then not
    // A handler of the host's is not to run in the child.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = getpid();
    process_ = fork();
    const int error = errno;
    if (process_ == 0) {
      to_ = ends[1];
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);  // it was too late for the signal
      // The parent's: with them go locks, pipes and sockets, which are to end with it.
      if (to_ > 3) close_range(3, static_cast<unsigned>(to_) - 1, 0);
      close_range(static_cast<unsigned>(to_) + 1, ~0u, 0);
      return;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(ends[1]);
    if (process_ < 0) {
      close(from_);
      cannot("no process", error);
    }
  }
  ~Child() {
    close(from_);
    if (!waited_) kill(process_, SIGKILL);  // its number is its own until it is waited for
    wait_for_it();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool is_this() const { return process_ == 0; }
  int to() const { return to_; }

  // Some bytes, at least one. Throws if there will be none.
  std::size_t read_some(char* to, std::size_t most) {
    for (;;) {
      pollfd wait{from_, POLLIN, 0};
      // A process that another thread has made meanwhile may keep the pipe open: so that the child
      // has ended is looked for, too.
      const int ready = poll(&wait, 1, 100);
      if (ready < 0 && errno != EINTR) cannot("no word from the process", errno);
      if (ready > 0) {
        const ssize_t n = read(from_, to, most);
        if (n > 0) return static_cast<std::size_t>(n);
        if (n < 0 && errno == EINTR) continue;
        ended_badly();
      }
      if (ready == 0 && waitpid(process_, &status_, WNOHANG) != 0) {
        waited_ = true;
        ended_badly();
      }
      if (Clock::now() > deadline_)
        damaged(path_, fmt::format("reading it took more than {} s", seconds_));
    }
  }

 private:
  [[noreturn]] void cannot(const char* what, int error) const {
    throw Error(ErrorKind::unavailable,
                fmt::format("{}: there is {} to read it with: {}", path_.string(), what,
                            std::generic_category().message(error)));
  }
  void wait_for_it() {
    while (!waited_ && waitpid(process_, &status_, 0) < 0)
      if (errno != EINTR) break;  // a host that takes all children's ends itself
    waited_ = true;
  }
  [[noreturn]] void ended_badly() {
    // It has closed its end of the pipe, which it does by ending.
    wait_for_it();
    const int signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
    if (signal == SIGXCPU) damaged(path_, "reading it took too long");
    if (signal == SIGKILL)
      damaged(path_, "reading it was ended by the system, as where memory or time run out");
    damaged(path_, signal == 0 ? std::string("reading it ended HDF5")
                               : fmt::format("reading it crashed HDF5 (signal {}, {})", signal,
                                             strsignal(signal)));
  }

  const fs::path& path_;
  std::uint64_t seconds_ = 0;
  Clock::time_point deadline_;
  int from_ = -1, to_ = -1;
  pid_t process_ = -1;
  int status_ = 0;
  bool waited_ = false;
};

class ReceivingWire : public Wire {
 public:
  ReceivingWire(Child& child, const fs::path& path, std::uint64_t most)
      : child_(child), path_(path), left_(most), buffer_(kBuffer) {}
  bool sending() const override { return false; }
  void bytes(void* data, std::size_t size) override {
    for (char* to = static_cast<char*>(data); size > 0;) {
      if (at_ < end_) {
        const std::size_t n = std::min(size, end_ - at_);
        std::memcpy(to, buffer_.data() + at_, n);
        at_ += n;
        to += n;
        size -= n;
      } else if (size >= kBuffer) {
        const std::size_t n = child_.read_some(to, size);
        to += n;
        size -= n;
      } else {
        at_ = 0;
        end_ = child_.read_some(buffer_.data(), buffer_.size());
      }
    }
  }
  void count(std::size_t& things, std::size_t each) override {
    bytes(&things, sizeof things);
    if (things > left_ / each) refuse();
    left_ -= things * each;
  }
  void refuse() const override { damaged(path_, "reading it gave more than the file can hold"); }

 private:
  Child& child_;
  const fs::path& path_;
  std::uint64_t left_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
};

void tell_error(Wire& wire, ErrorKind kind, std::string message) {
  Told told = Told::error;
  travel(wire, told);
  travel(wire, kind);
  travel(wire, message);
}

[[noreturn]] void be_child(int to, std::uint64_t bytes, const std::function<void()>& read,
                           const std::function<void(Wire&)>& travel_result) noexcept {
  in_child = true;
  SendingWire wire(to);      // takes its memory while there is some
  H5PLset_loading_state(0);  // no code of filters that a file names
  limit_child(bytes, to);
  try {
    read();
    Told told = Told::value;
    travel(wire, told);
    travel_result(wire);
  } catch (const Error& error) {
    tell_error(wire, error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    tell_error(wire, ErrorKind::data, "");
  } catch (const std::exception& error) {
    tell_error(wire, ErrorKind::internal, error.what());
  }
  wire.flush();
  _exit(0);  // nothing of the parent's is flushed, closed or destroyed
}

}  // namespace

Trusted::Trusted(const fs::path& path) : before_(std::exchange(trusted, &path)) {}

Trusted::~Trusted() {
  trusted = before_;
}

std::uint64_t file_bytes(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::data, fmt::format("{}: {}", path.string(), why));
  };
  if (!fs::exists(status))
    fail(error && error.value() != ENOENT ? error.message() : "there is no such file");
  if (!fs::is_regular_file(status)) fail("is not a file");
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error) fail(error.message());
  return bytes;
}

bool is_within_guarded(const fs::path& path) {
  return in_child || (trusted != nullptr && *trusted == path);
}

bool is_ours(const fs::path& path) {
  file_bytes(path);
  // A checksum is no signature: who was sent a folder may want to trust no file of it.
  const bool nobody = chosen_trust() == Trust::nobody;
  return check_seal(path) == Seal::whole && !nobody;
}

Trust chosen_trust() {
  const char* variable = std::getenv("STAP_TRUST");
  const std::string_view chosen = variable != nullptr ? variable : "own";
  if (chosen == "own") return Trust::own;
  if (chosen == "none") return Trust::nobody;
  throw Error(
      ErrorKind::config,
      fmt::format("STAP_TRUST is '{}', expected own (files with a checksum of ours are read "
                  "in this process) or none (all are read in a child process)",
                  chosen));
}

void read_in_child(const fs::path& path, const std::function<void()>& read,
                   const std::function<void(Wire&)>& travel_result) {
  const std::uint64_t bytes = file_bytes(path);
  Child child(path, bytes);
  if (child.is_this()) be_child(child.to(), bytes, read, travel_result);
  const std::uint64_t most = most_bytes(bytes);
  ReceivingWire wire(child, path, most + std::min(kSlack, ~most));
  Told told = Told::value;
  travel(wire, told);
  if (told == Told::value) return travel_result(wire);
  ErrorKind kind = ErrorKind::data;
  std::string message;
  travel(wire, kind);
  travel(wire, message);
  if (message.empty()) damaged(path, "reading it takes more memory than it can hold values");
  throw Error(kind == ErrorKind::config || kind == ErrorKind::internal ? kind : ErrorKind::data,
              message);
}

}  // namespace stap::h5
