#include "core/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

constexpr rlim_t kMostAllowed = 4096;

// All of them, where there is none left to look with.
std::size_t descriptors_in_use(std::size_t allowed) {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error))
    ++count;
  return count == 0 ? allowed : count - 1;  // one is that of the look
}

}  // namespace

std::size_t most_logs_open() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 64;
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur / 4, 2, 256));
}

void need_descriptors(std::size_t count, const std::string& why) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t used = descriptors_in_use(limit.rlim_cur), wanted = used + count;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, std::max(limit.rlim_cur, kMostAllowed));
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted)
    throw Error(ErrorKind::storage,
                fmt::format("Too many open files: {} takes {} more, but of {} that are allowed {} "
                            "are open: raise the limit (ulimit -n)",
                            why, count, limit.rlim_cur, used));
}

}  // namespace stap
