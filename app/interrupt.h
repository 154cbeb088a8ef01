#pragma once

#include "stap/core/stop.h"

namespace stap::app {

/// While it lives, the first Ctrl-C only asks for an end, so that what runs is not lost; the second
/// one, or SIGTERM at any time, asks for it now. Whoever asks a second time gets it within seconds,
/// and the third time at once, whatever the program is doing. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;
  /// Not even what runs should be waited for.
  bool now() const;
  /// Both, for the library.
  StopAsked stop() const;
  /// Ends the program by the signal that came, as its caller expects (130 or 143 in a shell). Call
  /// it when everything is tidy.
  [[noreturn]] void end_program() const;
};

}  // namespace stap::app
