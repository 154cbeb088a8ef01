#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stap/core/solver.h"

namespace stap {

/// An answer and the query it belongs to.
struct Reply {
  std::uint64_t id = 0;
  Answer answer{};
};

/// Queries go in, answers come out in any order: whoever drives many trajectories never waits for
/// one slow query. A queue is used by one thread. Solver::open() makes it.
class SolverQueue {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~SolverQueue() = default;
  /// Takes a query over. Throws Error(internal) if its id is that of an open one or it has no
  /// steps, Error(data) if its state is not of the grid's size.
  virtual void submit(Query query) = 0;
  /// How many queries have no reply yet.
  virtual std::size_t open() const = 0;
  /// True if next() would not wait; a queue that cannot tell says false. Whoever drives the queue
  /// takes what is ready before it does work of its own.
  virtual bool ready() const { return false; }
  /// A reply; empty if there is none yet. Waits until about `until`: a solver of this process ends
  /// the block of rows that it has begun, and begins one even if `until` has passed. Throws
  /// Error(internal) if nothing is open.
  virtual std::optional<Reply> next(Clock::time_point until) = 0;
  /// Forgets what is open: no reply will come, and its ids are free.
  virtual void cancel() = 0;
};

}  // namespace stap
