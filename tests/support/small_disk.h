// A disk that is soon full.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>

#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace stap::test {

/// Writes until there is no room left.
inline void fill_disk(const std::string& filler) {
  for (const std::size_t size : {4096, 1}) {
    std::ofstream file(filler, std::ios::app);
    const std::string block(size, 'x');
    while (file << block << std::flush) {
    }
  }
}

/// Calls `act` with a folder on a file system of so many kB, in a process of its own. The exit code
/// that it returns; -1: this process may not mount one.
inline int on_small_disk(int kilobytes, const std::function<int(const std::string&)>& act) {
  const TemporaryFolder temporary;
  const pid_t child = fork();
  if (child == 0) {
    const std::string size = "size=" + std::to_string(kilobytes) + "k";
    const bool alone = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!alone || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", temporary.path().c_str(), "tmpfs", 0, size.c_str()) != 0)
      _exit(255);
    _exit(act(temporary.path()));
  }
  const int status = wait_for(child);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 254;
  return code == 255 ? -1 : code;
}

}  // namespace stap::test
