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

/// What next() would give.
enum class Outlook {
  ready,  ///< a reply, without waiting
  later,  ///< one in a while, perhaps
  never,  ///< none: nothing runs, and nothing that waits will be begun (Closing)
};

/// How a queue is to come to its end. What is not begun for it, or given back, stays open without a
/// reply. A queue that runs nothing by itself need not know of `by`.
struct Closing {
  using Clock = std::chrono::steady_clock;
  /// No query is begun from now on; what runs goes on. For whoever wants to end without losing what
  /// is under way.
  bool hold = false;
  /// All must be over by then: no query is begun that would not be answered in time, with the steps
  /// after it (Query::behind), and what still runs shortly before, so that there is time to end it,
  /// is given back. Never later than it was.
  std::optional<Clock::time_point> by{};
  /// Seconds that a step takes, known from elsewhere: what is usual as long as nothing was
  /// answered.
  double usual = 0.0;
};

/// Those who answer, where a solver is people.
class People {
 public:
  virtual ~People() = default;
  /// What they must be asked. Valid until the queue is used again.
  virtual std::vector<const Query*> questions() const = 0;
  /// Their answer to one of these, which next() then gives. False if it is to none of them.
  virtual bool answer(Reply reply) = 0;
};

/// Queries go in, answers come out in any order: whoever drives many trajectories never waits for
/// one slow query. A queue is used by one thread. Solver::open() makes it.
class SolverQueue {
 public:
  using Clock = Closing::Clock;

  virtual ~SolverQueue() = default;
  /// Takes a query over. Throws Error(internal) if its id is that of an open one or it has no
  /// steps, Error(data) if its state is not of the grid's size.
  virtual void submit(Query query) = 0;
  /// How many queries have no reply yet.
  virtual std::size_t open() const = 0;
  /// Whoever drives the queue takes what is ready before it does work of its own.
  virtual Outlook outlook() const { return Outlook::later; }
  bool ready() const { return outlook() == Outlook::ready; }
  bool over() const { return outlook() == Outlook::never; }
  /// A reply; empty if there is none yet. Waits until about `until`: a solver of this process ends
  /// the block of rows that it has begun, and begins one even if `until` has passed. Throws
  /// Error(internal) if nothing is open.
  virtual std::optional<Reply> next(Clock::time_point until) = 0;
  /// Forgets a query: no reply will come, its id is free, and what runs for it is ended. False if
  /// it is not open, or the queue cannot.
  virtual bool give_back(std::uint64_t) { return false; }
  /// What next() has given so far is on disk: a queue that keeps answers for who is killed before
  /// that may let them go.
  virtual void recorded() {}
  /// May be called again; what was said before holds still.
  virtual void close(const Closing&) {}
  /// What is under way by itself, while nobody waits for it; none for a solver of this process.
  virtual std::vector<Running> running() const { return {}; }
  /// Null, unless the solver is asked by hand. Then nothing is ready before they have answered.
  virtual People* people() { return nullptr; }
};

}  // namespace stap
