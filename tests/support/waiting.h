// Waits that have an end: what hangs fails its own test, instead of all of them.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace stap::test {

/// Seconds that nothing takes unless it hangs, however busy the machine is.
constexpr double kLongest = 900.0;

/// Asks again and again; false if it has not become true in so many seconds.
inline bool eventually(const std::function<bool()>& is, double seconds = 10.0) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!is()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Waits until there is something to read, or the other side has ended; false if that takes longer.
inline bool readable(int descriptor, double seconds = kLongest) {
  pollfd one{descriptor, POLLIN, 0};
  int told = -1;
  do told = poll(&one, 1, static_cast<int>(1000 * seconds));
  while (told < 0 && errno == EINTR);
  return told > 0;
}

/// All that comes until the other side ends it. Throws if it does not.
inline std::string rest_of(int descriptor, double seconds = kLongest) {
  std::string text;
  char part[4096];
  for (ssize_t n = 1; n > 0;) {
    if (!readable(descriptor, seconds)) throw std::runtime_error("nothing comes, and no end");
    n = read(descriptor, part, sizeof part);
    if (n > 0) text.append(part, static_cast<std::size_t>(n));
  }
  return text;
}

/// The status of a child that has ended. One that does not is killed; then it throws.
inline int wait_for(pid_t child, double seconds = kLongest) {
  const int end = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const bool in_time = end < 0 || readable(end, seconds);
  if (!in_time) kill(child, SIGKILL);
  if (end >= 0) close(end);
  int status = 0;
  waitpid(child, &status, 0);
  if (!in_time) throw std::runtime_error("process " + std::to_string(child) + " does not end");
  return status;
}

}  // namespace stap::test
