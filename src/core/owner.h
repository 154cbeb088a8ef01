// Who holds something, told so that processes of all machines can judge whether it is still there.
#pragma once

#include <string>

namespace stap {

struct Owner {
  std::string host;
  std::string place;    ///< the machine since its start, and what of it can be seen; "?": not known
  std::string machine;  ///< the machine, whenever it was started; empty: not known
  long process = 0;
  std::string start;  ///< of the process, in the kernel's ticks

  static Owner here();
  /// For us, with every call another that no process has: machine, process number and some digits.
  static std::string unique_name();
  /// For people: "process 4711 on n3".
  std::string text() const;
  /// It is on this machine and runs.
  bool lives_here() const;
  /// It is known to be gone: it was on this machine, and has ended or the machine was restarted.
  bool gone() const;
};

/// Whether there is a process of this number here that has not ended.
bool process_runs(long process);

}  // namespace stap
