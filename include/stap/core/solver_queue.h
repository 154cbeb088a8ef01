#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stap/core/solver.h"

namespace stap {

/// An answer and the query it belongs to.
struct Reply {
  std::uint64_t id = 0;
  Answer answer{};
};

/// A query that a slot works on.
struct Running {
  std::uint64_t id = 0;
  double seconds = 0.0;  ///< so far
  std::string where{};   ///< which slot, for people: "slot 3, process 4711"
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
  /// The same for one query; what runs for it is ended. False if it is not open, or the queue
  /// cannot.
  virtual bool give_back(std::uint64_t) { return false; }
  /// From now on no query is begun: what waits stays open without a reply, what runs goes on. For
  /// who wants to end without losing what is under way. A queue that runs nothing by itself need
  /// not know.
  virtual void hold() {}
  /// What next() has given so far is on disk: a queue that keeps answers for who is killed before
  /// that may let them go.
  virtual void recorded() {}
  /// All must be over by then, so from now on no query is begun that would not be answered in time,
  /// by what a step usually takes and with the steps behind it (Query::behind). What still runs
  /// shortly before, so that there is time to end it, is given back. Either stays open without a
  /// reply. Never later than it was; a queue that runs nothing by itself need not know.
  virtual void end_by(Clock::time_point) {}
  /// Seconds that a step takes, known from elsewhere: what is usual as long as nothing was
  /// answered.
  virtual void expect(double) {}
  /// No reply will come: nothing runs, and nothing that waits will be begun (hold, end_by).
  virtual bool over() const { return false; }
  /// What is under way by itself, while nobody waits for it; none for a solver of this process.
  virtual std::vector<Running> running() const { return {}; }
  /// Queries that somebody must be asked, whose answers are brought by answer(): those of a solver
  /// that is a person. Valid until the queue is used again.
  virtual std::vector<const Query*> questions() const { return {}; }
  /// An answer to one of them, which next() then gives. False if it is none of them.
  virtual bool answer(Reply) { return false; }
};

}  // namespace stap
