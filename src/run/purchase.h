// What one run buys in one round, pass by pass, so that many runs can buy over one queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/acquire/buyer.h"
#include "stap/acquire/passes.h"
#include "stap/acquire/planner.h"
#include "stap/core/observer.h"
#include "stap/run/run.h"

namespace stap {

/// A round's purchase, or that of the initial trajectories. Goes on where an earlier process
/// stopped: plans that are on disk are read, answers in the log are not asked for again.
class RoundPurchase {
 public:
  /// The run is in phase `initial` or `acquire`; it, the committee and `pool`, that of the run's
  /// problem, must live as long. Nothing is planned, and the committee is not asked yet.
  RoundPurchase(Run& run, Committee& committee, StatesView<const float> pool);

  const Solver& solver() const { return *run_.problem->solver; }
  const Run& run() const { return run_; }

  /// Puts the plan of the first pass on disk; nothing is asked, and nothing more can be done here.
  void plan();
  /// All that can be asked now, having planned further passes and made the mean model's steps on
  /// the way. Ids are its own.
  std::vector<Query> ask();
  /// Writes what must be on disk before the reply is taken; commit() forces it there. What became
  /// of its last step, without the state.
  AnswerRecord record(const Reply& reply);
  void commit() { run_.answers.commit(); }
  void take(const Reply& reply);
  /// Answers that were recorded do not count any more: a later process asks again. This one can
  /// only give up.
  void revoke(std::span<const AnswerKey> answers, std::string_view why);
  /// "my-run, round 2", for messages.
  std::string text() const;
  /// A query that is not to be waited for any more: recorded, and ended without being made.
  void give_back(std::uint64_t id, std::string why);
  /// What an open query is about: candidate, step and input_hash.
  AnswerRecord subject(std::uint64_t id) const;
  /// How it is doing, but for what runs.
  RunStatus status() const;
  /// Queries of the pass under way: all that were asked, those without a reply, and those that were
  /// given back.
  std::size_t asked() const { return asked_; }
  std::size_t open() const { return open_queries_; }
  std::size_t given_back() const { return given_back_; }
  /// Steps of patterns that are still to be paid for, at most.
  std::size_t steps_left() const { return budget_ - std::min(spent_, budget_); }
  /// What the solver took for one of its steps, by what is recorded; empty: nothing is.
  std::optional<double> known_seconds() const;
  /// Leaves the device's memory to others until the next ask().
  void rest() { committee_.trim(); }

  /// Seconds that planning has taken so far, also where it was stopped.
  double planning_seconds() const { return planning_seconds_; }

  /// No question is open and none is left.
  bool done() const { return !passes_.more() && !buyer_; }
  /// Adds what was bought to the run's training set and puts that on disk, then the ledger; the
  /// observer is warned of trouble. The run's next phase begins. Once, when done().
  void finish(Observer& observer);

 private:
  void begin();
  void begin_pass();
  void count(Answer::Status status);
  Plan plan_pass();

  Run& run_;
  Committee& committee_;
  StatesView<const float> pool_;
  bool initial_;                   // the purchase is that of the initial trajectories
  std::optional<BuyRules> rules_;  // these four are there when the first pass has begun
  std::vector<std::size_t> open_;  // candidates, none for the initial trajectories
  std::unique_ptr<Planner> planner_;
  std::unique_ptr<Spending> spending_;
  LoggedAnswers recorded_;
  Passes passes_;
  std::unique_ptr<Buyer> buyer_;  // of the pass under way
  std::size_t asked_ = 0, open_queries_ = 0, given_back_ = 0;
  std::size_t budget_, spent_ = 0, failed_ = 0, refused_ = 0;  // of the whole purchase
  double planning_seconds_ = 0.0;
  double since_ = 0.0;           // when it first asked, seconds since 1970,
  std::size_t since_spent_ = 0;  // and what was spent by then
};

}  // namespace stap
