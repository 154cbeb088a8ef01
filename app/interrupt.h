#pragma once

#include <chrono>
#include <optional>

#include "stap/core/stop.h"

namespace stap::app {

/// When a program should end by itself.
struct TimeLimit {
  std::optional<std::chrono::duration<double>> stop_after;  ///< from now; empty: never
  /// Seconds that SIGUSR1 leaves, where SLURM_JOB_END_TIME does not tell.
  double notice = 100.0;
};

/// From now on SIGUSR1 does not end the program: it is a notice that its time will soon be over,
/// heeded by whoever has an InterruptGuard, then or later. Call it once, first of all.
void heed_notice();

/// Ends it by SIGTERM with the process that started it, if STAP_PARENT is that one's id: stap.run()
/// of Python has it in a session of its own, where no terminal would end both.
void end_with_parent();

/// While it lives, the first Ctrl-C only asks for an end, so that what runs is not lost; the second
/// one, or SIGTERM at any time, asks for it now. Whoever asks a second time gets it within seconds,
/// and the third time at once, whatever the program is doing. A time limit or SIGUSR1 sets a
/// deadline. One at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(const TimeLimit& limit = {});
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// By a signal that ends programs.
  bool requested() const;
  /// Not even what runs should be waited for.
  bool now() const;
  /// All of it, for the library. This must live as long.
  StopAsked stop() const;
  /// Ends the program by the signal that came, as its caller expects (130 or 143 in a shell). Call
  /// it when everything is tidy.
  [[noreturn]] void end_program() const;

 private:
  using Clock = StopAsked::Clock;

  std::optional<Clock::time_point> deadline() const;

  Clock::time_point begun_ = Clock::now();
  TimeLimit limit_;
};

}  // namespace stap::app
