// What the kernel says of processes: the one reader of /proc/PID.
#pragma once

#include <optional>
#include <string>

namespace stap {

/// All of a file of /proc. Empty: there is none. Not known, where it cannot be read.
std::optional<std::string> proc_text(const std::string& path);

struct ProcessStat {
  long parent = 0, group = 0, session = 0;
  std::string start{};  ///< in the kernel's ticks; empty: it has ended, or there never was one
};
/// Not known, where it cannot be read, as without a descriptor: nobody is taken for dead for that.
std::optional<ProcessStat> process_stat(long process);

}  // namespace stap
