#include "couple/belongings.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/proc.h"

namespace stap {
namespace {

constexpr std::chrono::seconds kKilling{2};

struct Living {
  pid_t pid;
  ProcessStat stat;
};

// What has ended and was not taken yet needs nobody.
std::vector<Living> running_processes() {
  std::vector<Living> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    const std::optional<ProcessStat> stat = process_stat(pid);
    if (stat && !stat->start.empty()) all.push_back({pid, *stat});
  }
  return all;
}

bool carries(pid_t pid, const std::string& mark) {
  const std::string all = proc_text(fmt::format("/proc/{}/environ", pid)).value_or("");
  return ('\0' + all).find('\0' + mark + '\0') != std::string::npos;
}

// True if any was found. The group as well: a process that makes another one and ends would be gone
// before it is reached, but between the processes of a group none can be made.
bool kill_round(pid_t warden, const std::string& mark) {
  const std::vector<Living> all = running_processes();
  std::set<long> ours;
  if (warden > 0) ours.insert(warden);
  for (const auto& [pid, stat] : all)
    if ((warden > 0 && stat.session == warden) || carries(pid, mark)) ours.insert(pid);
  for (bool more = true; more;) {  // children may have lower numbers than their parents
    more = false;
    for (const auto& [pid, stat] : all)
      if (ours.contains(stat.parent)) more = ours.insert(pid).second || more;
  }
  bool found = false;
  for (const auto& [pid, stat] : all) {
    if (!ours.contains(pid) || pid == warden || pid == getpid()) continue;
    found = true;
    kill(pid, SIGKILL);
    if (stat.group > 1 && stat.group != warden && stat.session != getsid(0))
      kill(static_cast<pid_t>(-stat.group), SIGKILL);
  }
  return found;
}

}  // namespace

// The warden last: as long as it is there, what loses its parent becomes its child.
void kill_belongings(pid_t warden, const std::string& mark) {
  const auto until = std::chrono::steady_clock::now() + kKilling;
  for (bool told = warden <= 0;;) {
    const bool left = kill_round(warden, mark);
    if (!left && told) return;
    if (const bool late = std::chrono::steady_clock::now() > until; late || !left) {
      if (warden > 0) kill(warden, SIGKILL);
      if (late) return;
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace stap
