#include "couple/shortage.h"

#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

constexpr double kRest = 0.05, kRestMost = 0.4;  // seconds of a slot, doubled every time
constexpr std::chrono::milliseconds kShortMost{1500};

}  // namespace

void allow_descriptors(std::size_t slots) {
  const rlim_t wanted = 4 * static_cast<rlim_t>(slots) + 256;  // a few sockets each
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

double Shortage::bear(bool others_run, double rest) try { throw; } catch (const Error& error) {
  if (error.kind() != ErrorKind::storage) throw;
  const auto now = std::chrono::steady_clock::now();
  if (!since_) since_ = now;
  if (others_run || now - *since_ < kShortMost) return std::clamp(2 * rest, kRest, kRestMost);
  since_.reset();
  throw Error(ErrorKind::storage,
              fmt::format("{}\nno step is charged for it: the same command continues once there "
                          "is room",
                          error.what()));
}

}  // namespace stap
