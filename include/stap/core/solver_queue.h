#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "stap/core/solver.h"

namespace stap {

/// An answer and the query it belongs to.
struct Reply {
  std::uint64_t id = 0;
  Answer answer;
};

/// Queries go in, answers come out in any order: whoever drives many trajectories never waits for
/// one slow query. A queue is used by one thread.
class SolverQueue {
 public:
  virtual ~SolverQueue() = default;
  /// Takes a query over; ids must differ among those that are open.
  virtual void submit(std::uint64_t id, std::vector<double> state, double time) = 0;
  /// How many queries have no reply yet.
  virtual std::size_t open() const = 0;
  /// True if next() would not wait; a queue that cannot tell says false. Whoever drives the queue
  /// takes what is ready before it does work of its own.
  virtual bool ready() const { return false; }
  /// Waits for a reply. Throws Error(internal) if nothing is open.
  virtual Reply next() = 0;
};

/// Answers by an in-process solver (which must outlive it): what is open is solved as one batch
/// when a reply is asked for; replies come in the order of submission.
std::unique_ptr<SolverQueue> make_batch_queue(const Solver& solver);

}  // namespace stap
