#include "data/child_limits.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "data/child_calls.h"

namespace stap::h5 {
namespace {

constexpr std::uint64_t kMostCompression = 1032, kAlwaysAllowed = std::uint64_t{1} << 20;
constexpr std::uint64_t kRoom = std::uint64_t{256} << 20;
constexpr std::uint64_t kSeconds = 2, kBytesPerSecond = std::uint64_t{32} << 20;
constexpr int kDescriptors = 8;

// Of this process, once it is a child; 0: it has no limits.
std::uint64_t room = 0, bytes_allowed = 0;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

// Address space of this process: what it has of its parent is not its own doing (with
// AddressSanitizer these are terabytes).
std::uint64_t size_now() {
  unsigned long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return times(pages, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}

// Never above what the process had already.
void set_limit(__rlimit_resource_t what, std::uint64_t soft, std::uint64_t hard) {
  rlimit limit;
  if (getrlimit(what, &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(hard, limit.rlim_max);
  limit.rlim_cur = std::min<rlim_t>(soft, limit.rlim_max);
  setrlimit(what, &limit);
}

std::uint64_t seconds_for(std::uint64_t bytes) {
  return kSeconds + bytes / kBytesPerSecond;
}

}  // namespace

std::uint64_t most_bytes(std::uint64_t bytes) {
  return std::max(times(bytes, kMostCompression), kAlwaysAllowed);
}

void limit_child(std::uint64_t bytes, int out) {
  room = plus(size_now(), plus(kRoom, times(bytes, 2)));
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0);  // a core dump that goes to a program has no limit
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = 0; nowhere >= 0 && stream < 3; ++stream)
    if (stream != out) dup2(nowhere, stream);
  // Signals are blocked since before the fork; of those that say that this process goes wrong the
  // host may have handlers, which are about the host.
  sigset_t fatal;
  sigemptyset(&fatal);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU}) {
    ::signal(signal, SIG_DFL);
    sigaddset(&fatal, signal);
  }
  sigprocmask(SIG_UNBLOCK, &fatal, nullptr);
  bytes_allowed = bytes;
  const std::uint64_t most = times(most_bytes(bytes), 4);
  set_limit(RLIMIT_CORE, 0, 0);
  if (nowhere >= 0)
    set_limit(RLIMIT_NOFILE, static_cast<std::uint64_t>(nowhere + kDescriptors),
              static_cast<std::uint64_t>(nowhere + kDescriptors));
  set_limit(RLIMIT_FSIZE, 0, 0);
  set_limit(RLIMIT_AS, room, plus(room, most));
  set_limit(RLIMIT_CPU, seconds_for(bytes), plus(seconds_for(bytes), seconds_for(most)));
  if (nowhere > 2) close(nowhere);  // its number is what the file gets
  allow_reading_only(out, nowhere);
}

void allow_bytes(std::uint64_t bytes) {
  if (room == 0) return;
  room = plus(room, bytes);
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0) set_limit(RLIMIT_AS, room, limit.rlim_max);
  allow_seconds_for(bytes);
}

void allow_seconds_for(std::uint64_t bytes) {
  if (room == 0) return;
  bytes_allowed = plus(bytes_allowed, bytes);
  rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) == 0)
    set_limit(RLIMIT_CPU, seconds_for(bytes_allowed), limit.rlim_max);
}

}  // namespace stap::h5
