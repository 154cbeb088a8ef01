#include "interrupt.h"

#include <csignal>
#include <cstdlib>

namespace stap::app {
namespace {

volatile std::sig_atomic_t signal_seen = 0;

extern "C" void note_signal(int signal) {
  signal_seen = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signal_seen = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::requested() const {
  return signal_seen != 0;
}

void InterruptGuard::end_program() const {
  std::signal(signal_seen, SIG_DFL);
  std::raise(signal_seen);
  std::abort();  // not reached: the default action ends the program
}

}  // namespace stap::app
