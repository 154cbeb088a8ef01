// What one run buys in one round, pass by pass, so that many runs can buy over one queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stap/acquire/buyer.h"
#include "stap/acquire/passes.h"
#include "stap/acquire/planner.h"
#include "stap/core/observer.h"
#include "stap/market/customer.h"
#include "stap/run/run.h"

namespace stap {

/// A round's purchase, or that of the initial trajectories. Goes on where an earlier process
/// stopped: plans that are on disk are read, answers in the log are not asked for again.
class RoundPurchase final : public Customer {
 public:
  /// The run is in phase `initial` or `acquire`; it, the committee and `pool`, that of the run's
  /// problem, must live as long. Nothing is planned, and the committee is not asked yet.
  RoundPurchase(Run& run, Committee& committee, StatesView<const float> pool);

  const Run& run() const { return run_; }

  /// Puts the plan of the first pass on disk; nothing is asked, and nothing more can be done here.
  void plan();
  /// Plans further passes and makes the mean model's steps on the way.
  std::vector<SolverOrder> ask() override;
  void take(std::uint64_t query, std::vector<AnswerRecord> records) override;
  std::string text() const override;
  Progress progress() const override;
  std::optional<double> known_seconds(const Solver& solver) const override;
  void show(OpenOrders open) const override;
  void rest() override { committee_.trim(); }

  /// How it is doing, but for what runs.
  RunStatus status() const;
  /// Steps of patterns that are still to be paid for, at most.
  std::size_t steps_left() const { return budget_ - spent(); }
  /// Seconds that planning has taken so far, also where it was stopped.
  double planning_seconds() const { return planning_seconds_; }

  /// Adds what was bought to the run's training set and puts that on disk, then the ledger; the
  /// observer is warned of trouble. The run's next phase begins. Once, when the market has served
  /// it.
  void finish(Observer& observer);

 private:
  void begin();
  void begin_pass();
  std::size_t spent() const;
  Plan plan_pass();

  Run& run_;
  Committee& committee_;
  StatesView<const float> pool_;
  bool initial_;                   // the purchase is that of the initial trajectories
  std::optional<BuyRules> rules_;  // these four are there when the first pass has begun
  std::vector<std::size_t> open_;  // candidates, none for the initial trajectories
  std::unique_ptr<Planner> planner_;
  std::unique_ptr<RoundPlans> round_plans_;
  LoggedAnswers recorded_;
  Passes passes_;
  std::unique_ptr<Buyer> buyer_;       // of the pass under way
  std::size_t budget_, warm_ups_ = 0;  // of the whole purchase
  double planning_seconds_ = 0.0;
  double since_ = 0.0;           // when it first asked, seconds since 1970,
  std::size_t since_spent_ = 0;  // and what was spent by then
};

}  // namespace stap
