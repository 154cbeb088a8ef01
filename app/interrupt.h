#pragma once

namespace stap::app {

/// While it lives, the first Ctrl-C or SIGTERM only sets a flag, so that work can end tidily; the
/// second one ends the program at once. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;
  /// Ends the program by the signal that came, as its caller expects (130 or 143 in a shell). Call
  /// it when everything is tidy.
  [[noreturn]] void end_program() const;
};

}  // namespace stap::app
