#include "couple/belongings.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace stap {
namespace {

constexpr std::chrono::seconds kKilling{2};

struct Seen {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  char state = 'X';
};

std::string content_of(pid_t pid, const char* file) {
  std::ifstream in(fmt::format("/proc/{}/{}", pid, file), std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();  // which throws nothing when the process ends meanwhile
  return text.str();
}

// Those that run: what has ended and was not taken yet needs nobody.
std::vector<Seen> running_processes() {
  std::vector<Seen> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    Seen seen;
    if (std::from_chars(name.data(), name.data() + name.size(), seen.pid).ec != std::errc())
      continue;
    const std::string stat = content_of(seen.pid, "stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(stat.substr(name_end + 1));
    rest >> seen.state >> seen.parent >> seen.group >> seen.session;
    if (rest && seen.state != 'Z' && seen.state != 'X') all.push_back(seen);
  }
  return all;
}

bool carries(pid_t pid, const std::string& mark) {
  return ('\0' + content_of(pid, "environ")).find('\0' + mark + '\0') != std::string::npos;
}

// True if any was found. The group as well: a process that makes another one and ends would be gone
// before it is reached, but between the processes of a group none can be made.
bool kill_round(pid_t warden, const std::string& mark) {
  const std::vector<Seen> all = running_processes();
  std::set<pid_t> ours;
  if (warden > 0) ours.insert(warden);
  for (const Seen& one : all)
    if ((warden > 0 && one.session == warden) || carries(one.pid, mark)) ours.insert(one.pid);
  for (bool more = true; more;) {  // children may have lower numbers than their parents
    more = false;
    for (const Seen& one : all)
      if (ours.contains(one.parent)) more = ours.insert(one.pid).second || more;
  }
  bool found = false;
  for (const Seen& one : all) {
    if (!ours.contains(one.pid) || one.pid == warden || one.pid == getpid()) continue;
    found = true;
    kill(one.pid, SIGKILL);
    if (one.group > 1 && one.group != warden && one.session != getsid(0)) kill(-one.group, SIGKILL);
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
