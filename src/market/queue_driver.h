// One queue to a solver, and all who ask it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/answer_times.h"
#include "core/breaker.h"
#include "stap/market/market.h"

namespace stap {

/// What the Market promises, for one solver. After an exception nothing is used any more, and only
/// keep() may be called.
class QueueDriver {
 public:
  using Clock = SolverQueue::Clock;

  /// The solver must live as long.
  explicit QueueDriver(const Solver& solver);

  const Solver& solver() const { return solver_; }
  /// The customer must live until clear().
  void submit(Customer& customer, SolverOrder order);
  bool open() const { return queue_->open() > 0; }
  bool ready() const { return open() && queue_->ready(); }
  /// Takes the replies that are there, waiting for the first until about then; returns whose they
  /// were. Throws Error(solver) if failures are more than the solver's policy bears: those of these
  /// customers do not count then, so that whoever goes on asks again; those of customers that are
  /// done stand.
  std::vector<Customer*> serve(Clock::time_point until);
  /// Whose orders were given back.
  std::vector<Customer*> give_back_stragglers();
  /// Nothing will come before somebody has answered.
  bool waits_for_people() const;
  std::vector<OpenQuestion> questions() const;
  /// An answer to one of them, by the id of its query.
  void answer(Reply reply) { queue_->people()->answer(std::move(reply)); }
  /// Adds what runs, and what waits.
  void add_open(std::map<const Customer*, OpenOrders>& open) const;
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
  /// All customers are done.
  void clear();

 private:
  // An order in the queue, by a number that is its own.
  struct Asked {
    std::size_t owner = 0;  // position of the customer
    std::uint64_t id = 0;   // of the customer's query
    AnswerKey first{};
    std::size_t steps = 0;
    std::uint64_t input_hash = 0;
    std::vector<double> parameters{};
  };
  // What was recorded of one, and is not taken yet.
  struct Recorded {
    std::size_t owner = 0;
    std::uint64_t id = 0;
    std::vector<AnswerRecord> records;
  };

  void receive(Clock::time_point until);
  void record(const Asked& asked, const Answer& answer);
  void commit();
  std::vector<Customer*> take();
  bool is_straggler(const Running& running) const;
  void revoke();
  [[noreturn]] void give_up() const;

  const Solver& solver_;
  std::unique_ptr<SolverQueue> queue_;
  std::vector<Customer*> customers_;  // in the order in which they came
  std::unordered_map<std::uint64_t, Asked> asked_;
  std::uint64_t next_ = 0;
  std::vector<Recorded> recorded_;
  AnswerTimes times_;
  std::optional<Clock::time_point> end_;
  Breaker breaker_;
  bool revoked_ = false;  // the failures that tripped it
};

}  // namespace stap
