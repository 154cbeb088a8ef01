// A place where one query at a time runs outside this process.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stap/core/solver.h"

namespace stap {

/// What became of one try of a query.
struct Outcome {
  Answer answer{};
  bool worth_a_retry = false;  ///< a crash or a lost connection, not a wrong or refused answer
  bool lost = false;       ///< not the query's fault (a lost node, a worker that did not come up):
                           ///< not a try, so often as a query can have bad luck
  bool not_begun = false;  ///< its launcher could start nothing at present: waited for, not a try
};

/// Why a query is ended that nobody asks about any more: no failure, so nothing is kept of it.
constexpr const char* kNotWanted = "no longer wanted";

/// How the reason begins of one whose machine went: nothing is kept of that either.
constexpr const char* kNodeLost = "its node was lost";

/// Where the first value stands that is not finite, "value 3 of step 2 is nan"; empty: nowhere.
/// What is kept are the states before that one.
std::string cut_at_flaw(std::vector<double>& states, std::size_t values);

/// Never waits and never throws about the solver: what goes wrong is an outcome. What is no fault
/// of the solver's, a folder or an input of ours that cannot be written, a process, socket or
/// descriptor that is not to be had, is Error(storage) from begin() or look(): the slot is free,
/// and the query has not begun then. SlotQueue (slot_queue.h) keeps time limits, tries again, and
/// ends what is slow.
class Slot {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Slot() = default;

  /// Begins a try (1, 2, ...) of a query; none runs. The query lives until the outcome is taken.
  virtual void begin(const Query& query, int attempt) = 0;
  /// What to wait for while a query runs, or while the slot gets ready to: appended.
  virtual void watch(std::vector<pollfd>& descriptors) const = 0;
  /// Goes on with what is there; the outcome once there is one, after which the slot is free.
  virtual std::optional<Outcome> look() = 0;
  /// Ends what runs; its outcome is a failure that begins with `why`, and comes by look() when
  /// nothing of it is left.
  virtual void end(const std::string& why) = 0;
  /// For people: "process 4711".
  virtual std::string where() const = 0;
  /// When look() has something to do although nothing that it watches is ready.
  virtual Clock::time_point due() const { return Clock::time_point::max(); }
  /// True while the query waits for what is to compute it: a query's time limit begins behind that.
  virtual bool getting_ready() const { return false; }
  /// Ends what stays between queries; none runs. Asked again and again: true once nothing is left.
  virtual bool let_go() { return true; }
};

}  // namespace stap
