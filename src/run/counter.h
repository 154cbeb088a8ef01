// Where purchases ask one solver, together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/answer_times.h"
#include "core/breaker.h"
#include "run/purchase.h"
#include "stap/core/solver_queue.h"
#include "stap/run/by_hand.h"

namespace stap {

/// One queue for all purchases from a solver. What is answered is on disk before it is used. After
/// an exception nothing is used any more, and only keep() may be called.
///
/// Where the solver's policy allows stragglers: when all of a pass's queries but that share are
/// answered and no other waits for a slot, those that have been running for more than 3 times what
/// is usual (and a second) are given back. That is recorded as a refusal before it is done, so a
/// later process does the same.
class Counter {
 public:
  using Clock = SolverQueue::Clock;
  /// What a purchase wants to know now.
  using Ask = std::function<std::vector<Query>(RoundPurchase&)>;

  /// The solver must live as long.
  Counter(const Solver& solver, Ask ask);

  const Solver& solver() const { return solver_; }
  /// The purchase must live until clear().
  void add(RoundPurchase& purchase);
  bool open() const { return queue_->open() > 0; }
  bool ready() const { return open() && queue_->ready(); }
  /// Takes the replies that are there, waiting for the first until about then. Throws Error(solver)
  /// if failures are more than the solver's policy bears: those of these purchases do not count
  /// then, so that whoever goes on asks again; those of purchases that are done stand.
  void serve(Clock::time_point until);
  /// Nothing will come before somebody has answered.
  bool waits_for_people() const;
  /// What they are asked, with positions of runs in `runs`.
  std::vector<Question> questions(std::span<const Run> runs);
  /// An answer, by Question::id; false if it is to none of these.
  bool answer(Reply reply);
  /// Adds what runs, and what waits to, to the status of the runs it is for.
  void add_open(std::map<const Run*, RunStatus>& statuses) const;
  /// From now on nothing is begun.
  void hold() { queue_->close({.hold = true}); }
  /// Begins nothing more that would not be answered by then, if it takes what was usual until now,
  /// also before this process.
  void end_by(Clock::time_point time);
  /// No reply will come any more.
  bool over() const { return open() && queue_->over(); }
  /// Adds what runs.
  void count_running(WindingDown& end) const;
  /// Waits for a reply until about then and puts on disk what was answered; nothing is used.
  void collect(Clock::time_point until);
  /// Puts on disk what was answered, for a later process.
  void keep();
  /// All purchases are done.
  void clear();

 private:
  // A query in the queue, by a number that is its own.
  struct Asked {
    std::size_t owner = 0;  // position of the purchase
    std::uint64_t id = 0;   // of the purchase's query
    std::size_t steps = 0;
  };

  void receive(Clock::time_point until);
  void commit();
  void ask(std::size_t owner);
  void give_back_stragglers();
  bool is_straggler(const Running& running) const;
  void revoke();
  [[noreturn]] void give_up() const;

  const Solver& solver_;
  Ask ask_;
  std::unique_ptr<SolverQueue> queue_;
  std::vector<RoundPurchase*> purchases_;
  std::unordered_map<std::uint64_t, Asked> asked_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> people_;  // numbers by Question::id
  std::vector<std::pair<std::size_t, Reply>> replies_;  // and whose they are: recorded, not taken
  AnswerTimes times_;
  std::optional<Clock::time_point> end_;
  Breaker breaker_;
  bool revoked_ = false;  // the failures that tripped it
};

}  // namespace stap
