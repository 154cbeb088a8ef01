// Which processes are there, seen from outside.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace stap::test {

inline std::vector<pid_t> processes_where(const std::function<bool(pid_t)>& wanted) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size() && wanted(pid))
      found.push_back(pid);
  }
  return found;
}

/// Those whose environment has this entry, "NAME=value". One that has ended, or is just being
/// started, has none.
inline std::vector<pid_t> processes_with(const std::string& entry) {
  return processes_where([&](pid_t pid) {
    const std::string all = '\0' + content("/proc/" + std::to_string(pid) + "/environ");
    return all.find('\0' + entry + '\0') != std::string::npos;
  });
}

/// Letter of /proc/PID/stat ('Z': ended, not taken); ' ' if there is no such process.
inline char process_state(pid_t pid) {
  const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? ' ' : stat.at(name_end + 2);
}

inline pid_t parent_of(pid_t pid) {
  const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? 0 : std::stoi(stat.substr(name_end + 4));
}

/// An entry of an environment that no other process has.
inline std::string unique_mark() {
  static int count = 0;
  return "STAP_TEST_MARK=" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

}  // namespace stap::test
