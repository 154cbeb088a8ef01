#include "interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace stap::app {
namespace {

constexpr unsigned kPatience = 3;  // seconds for a tidy end, once somebody has asked twice

volatile std::sig_atomic_t signal_seen = 0, at_once = 0;

void let_them_end_us() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

extern "C" void note_signal(int signal) {
  const bool again = signal_seen != 0;
  signal_seen = signal;
  if (signal == SIGTERM || again) at_once = 1;
  if (!again) return;
  let_them_end_us();
  alarm(kPatience);
}

extern "C" void lose_patience(int) {
  let_them_end_us();
  std::raise(signal_seen);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signal_seen = 0;
  at_once = 0;
  std::signal(SIGALRM, lose_patience);
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

InterruptGuard::~InterruptGuard() {
  let_them_end_us();
  alarm(0);
  std::signal(SIGALRM, SIG_DFL);
}

bool InterruptGuard::requested() const {
  return signal_seen != 0;
}

bool InterruptGuard::now() const {
  return at_once != 0;
}

StopAsked InterruptGuard::stop() const {
  return {[] { return signal_seen != 0; }, [] { return at_once != 0; }};
}

void InterruptGuard::end_program() const {
  std::signal(signal_seen, SIG_DFL);
  std::raise(signal_seen);
  std::abort();  // not reached: the default action ends the program
}

}  // namespace stap::app
