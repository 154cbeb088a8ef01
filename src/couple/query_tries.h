// How often a query was tried, and what becomes of it after a try.
#pragma once

#include <chrono>
#include <optional>

#include "couple/slot.h"
#include "couple/slot_queue.h"

namespace stap {

class QueryTries {
 public:
  enum class Next {
    reply,   ///< the outcome is its answer
    behind,  ///< it is tried again, behind those that wait
    front,   ///< that was no try: it is the next to begin, while its slot rests
  };

  void begin() { ++tries_; }
  void take_back() { --tries_; }
  int count() const { return tries_; }

  /// `ended`: by us, so it is not tried again. `rest`: of the slot, in seconds; what it was the
  /// last time (0: it did not rest), and what it is now.
  Next judge(const Outcome& outcome, bool ended, const SlotRules& rules, double& rest);

 private:
  int tries_ = 0, losses_ = 0;
  std::optional<Slot::Clock::time_point> no_room_since_{};
};

}  // namespace stap
