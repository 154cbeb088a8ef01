// Watches over one program: a process of its own, so that it is there when we are gone.
#pragma once

#include <cstdint>

namespace stap {

/// The warden's only message: how it ended, once nothing of it is left.
struct WardenReport {
  std::int32_t code = 0, signal = 0, start_error = 0, left_behind = 0;
  std::int32_t short_of = 0;  ///< or the errno with which the system kept something from ourselves
  std::int32_t in_vain = 0;   ///< something of it did not go
  std::int64_t memory_peak_kib = 0;
  std::int64_t microseconds = 0;  ///< from its start to its end, whoever looks when
};

/// What it is told through its socket, a byte each: end it; at once; it is about to leave by
/// itself, so end it only if it does not. The socket's end means kWardenEnd, too: we are gone.
constexpr char kWardenEnd = 'T', kWardenKill = 'K', kWardenLeave = 'L';

/// False if nobody hears it.
bool send_report(int socket, const WardenReport& report);

/// Leads a session. Starts argv (as execvp takes it; 0, 1 and 2 and the folder are the program's
/// already) in a group of its own there and becomes the parent of all that it leaves behind (a
/// child subreaper), so that also what daemonizes, and what a launcher of MPI starts, can be found
/// and ended. Ends all of it when told to, when the program itself has ended, and when the socket's
/// other side is gone: SIGTERM to the program, and what is still there `grace_ms` later gets
/// SIGKILL. Then reports, and returns the exit code. Makes system calls and nothing else: it may
/// run in a fork of a process with threads.
int keep_watch(int socket, char* const* argv, long grace_ms, std::uint64_t file_bytes_most);

}  // namespace stap
