// Queries that run outside this process, in slots.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "couple/slot.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/solver_options.h"

namespace stap {

struct SlotRules {
  std::size_t slots = 1;
  std::size_t retries = 0;  ///< of a try that is worth one
  SolverLimits limits{};
  double grace = 10.0;  ///< seconds that a slot may take to end, when the queue itself ends
};

/// Slots are made by `make_slot(0)`, (1), ... when there is something to do for them. Queries begin
/// in the order in which they came. A try that takes longer than the time limit is ended and fails;
/// a failed one that is worth it is tried again, behind those that wait; a query whose slot is lost
/// begins again, which is no try, until that has happened twice; one for which there is no room
/// waits, for limits.launch at most. Time limit: none until 8 answers
/// are known, then max(least, factor x median) for every step of a query, if `limits.seconds` is 0.
/// Where there is an end, see query_times.h. The queue must be asked for things to go on: what has
/// ended while nobody asked waits for that. What a slot throws, or making one, comes from next(),
/// behind the replies that are there; its query waits again. Of a slot's Error(storage) that is so
/// only when nothing else has run for 1.5 s of tries: until then the slot rests and tries again.
std::unique_ptr<SolverQueue> make_slot_queue(
    SlotRules rules, std::function<std::unique_ptr<Slot>(std::size_t slot)> make_slot);

}  // namespace stap
