#pragma once

// Asks a slot as its queue does: waits for what it watches, and looks.

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "couple/slot.h"
#include "support/temporary_folder.h"

namespace stap::test {

/// Waits once, as long as the slot allows but at most until then, and looks.
inline std::optional<Outcome> look_once(Slot& slot, Slot::Clock::time_point until) {
  std::vector<pollfd> descriptors;
  slot.watch(descriptors);
  const auto wake = std::min(until, slot.due());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      std::max(wake, Slot::Clock::now()) - Slot::Clock::now());
  poll(descriptors.data(), descriptors.size(), static_cast<int>(left.count()));
  return slot.look();
}

/// Throws if there is none after 20 s, which is far beyond what tests take.
inline Outcome wait_for_outcome(Slot& slot) {
  const auto until = Slot::Clock::now() + std::chrono::seconds(20);
  while (Slot::Clock::now() < until)
    if (auto outcome = look_once(slot, until)) return *std::move(outcome);
  throw std::runtime_error("the slot gave no outcome");
}

inline Outcome ask(Slot& slot, const Query& query, int attempt = 1) {
  slot.begin(query, attempt);
  return wait_for_outcome(slot);
}

inline bool is_running(int pid) {
  return pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH);
}

}  // namespace stap::test
