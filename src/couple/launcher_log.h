// What a launcher says in the log of a program that it started: srun, mpirun, ssh below them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace stap {

/// Each is the line that says so, or empty. A launcher's exit code does not tell these things: srun
/// ends with 0 when a node is lost.
struct LauncherWords {
  std::string waits;        ///< for room: nothing was started yet
  std::string step;         ///< it was started, and where
  std::string not_started;  ///< and gave up, for a reason that passes
  std::string node_lost;  ///< under way, by no fault of the program's; also: the job's time is over
  std::string rank_ended;  ///< a rank crashed or exited, which is the program's own doing
};

/// A program may print the same words. So what is believed here must never be without an end.
LauncherWords launcher_words(const std::filesystem::path& log);
LauncherWords launcher_words_in(std::string_view text);

/// Whether a line is one that a launcher writes about an end, and not the program behind it.
bool is_of_launcher(std::string_view line);
/// Of those: whether it says how a rank ended, other than by an exit code.
bool tells_crash(std::string_view line);
/// Whether it says why MPI could not begin, which stands above lines that say little; if so, what
/// to do about it (it may be empty), else nullptr.
const char* remedy_for(std::string_view line);

}  // namespace stap
