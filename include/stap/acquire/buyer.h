#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stap/acquire/ledger.h"
#include "stap/acquire/plan.h"
#include "stap/core/answer_record.h"
#include "stap/core/parameters.h"
#include "stap/core/resident_rows.h"
#include "stap/core/solver.h"
#include "stap/core/states.h"
#include "stap/core/walk.h"

namespace stap {

/// A step that was bought: the transition and where it comes from.
struct Bought {
  std::size_t candidate = 0, step = 0;  ///< 0-based step: leads from state `step` to `step` + 1
  std::vector<double> input, output;    ///< [C, X...]
  double seconds = 0.0;
};

/// What is written down about (candidate, step), if anything is.
using Recorded =
    std::function<std::optional<AnswerRecord>(std::size_t candidate, std::size_t step)>;

struct BuyRules {
  /// A query that fails costs a step all the same.
  bool charge_failed = true;
  /// The trust band: an input that the mean model made is refused if the members are farther apart
  /// after one step from it (one_step_spreads). Infinite: no band.
  double trust_limit = std::numeric_limits<double>::infinity();
};

struct Delivery {
  std::vector<Bought> bought;  ///< in (position in the plan, step) order
  Ledger ledger;
};

/// Buys one plan by events: a walk per purchase, the solver where the bit is 1, the mean model
/// where it is 0. It never waits: it says what it would ask and takes replies as they come, so one
/// queue may serve many buyers (whoever drives them gives their queries ids of its own). What it
/// delivers does not depend, not by a bit, on the order of replies or on the solver's
/// steps_at_once().
///
/// Bought steps in a row are one query, as far as the solver takes them, and hand the double state
/// on unrounded. A refusal or failure ends its walk; steps before it are kept. What the trust band
/// refuses is never asked; a recorded answer has passed it before. One that has thrown is of no use
/// any more.
class Buyer {
 public:
  /// `initial` is the pool in double, with its parameters where some vary; solver and committee
  /// must outlive the buyer. Throws Error(internal) if the plan costs more than the budget, or
  /// candidates are not states of the solver's grid in the pool.
  Buyer(const Plan& plan, std::size_t budget, StatesView<const double> initial,
        const Solver& solver, Committee& committee, const BuyRules& rules, Recorded recorded = {},
        const RowParameters& parameters = {});
  ~Buyer();

  /// Everything it can ask now: recorded answers are used, steps of the mean model are made, and
  /// its states are judged on the way, all trips together. Ids are positions in the plan. Throws
  /// Error(data) if a recorded answer does not fit the state at hand, Error(config) for a trust
  /// band with a committee of one, and what the committee throws.
  std::vector<Query> ask();
  /// The first step that an open query is about.
  AnswerKey first_of(std::uint64_t query) const;
  /// Uses what came of one of its open queries (records_of()), which is on disk.
  void take(std::uint64_t query, std::vector<AnswerRecord> records);
  /// No query is open, and none is left to ask.
  bool done() const { return open_ == 0 && moved_.empty(); }
  /// What came of it; once, when it is done. Throws Error(internal) if the ledger does not add up.
  Delivery deliver();

 private:
  struct Trip;    // one trajectory under way
  struct Errand;  // what the trips need next
  struct Inputs;  // states that the committee is asked about

  Query question(const Trip& trip) const;
  void send(std::size_t trip, Errand& errand);
  void use(Trip& trip, AnswerRecord record);
  void check(const Trip& trip, const AnswerRecord& record) const;
  Inputs inputs_of(std::span<const std::size_t> together) const;
  void advance_by_mean(Errand& errand);
  void judge(Errand& errand);

  const Solver& solver_;
  Committee& committee_;
  BuyRules rules_;
  Recorded recorded_;
  ResidentRows rows_;
  Ledger ledger_;  // of the plan, before anything is bought
  std::vector<Trip> trips_;
  std::vector<std::size_t> moved_;  // trips that have something to do
  std::size_t open_ = 0;            // queries without a reply
};

}  // namespace stap
