#include "stap/acquire/buy.h"

#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "stap/acquire/trust.h"
#include "stap/core/committee.h"
#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// One trajectory under way.
struct Trip {
  std::size_t candidate;
  Walk walk;
  std::vector<double> state;  // at walk.step()
  std::vector<Bought> bought;
  bool distrusted = false;  // refused by the trust band

  // Whether the mean model made the state.
  bool synthetic() const { return walk.step() > 0 && !walk.pattern()[walk.step() - 1]; }
};

// "candidate 7, step 3: failed: ..."
std::string trouble(const Trip& trip) {
  const char* what = trip.distrusted                         ? "refused by the trust band"
                     : trip.walk.end() == Walk::End::refused ? "refused by the guard"
                                                             : "failed";
  return fmt::format("candidate {}, step {}: {}: {}", trip.candidate, trip.walk.step(), what,
                     trip.walk.reason());
}

// Why an answer that claims to be ok cannot be used; empty if it can.
std::string flaw(const Answer& answer, std::size_t values) {
  if (answer.state.size() != values)
    return fmt::format("the answer has {} values, expected {}", answer.state.size(), values);
  for (std::size_t i = 0; i < values; ++i)
    if (!std::isfinite(answer.state[i]))
      return fmt::format("answer value {} is {}", i, answer.state[i]);
  return {};
}

class Buyer {
 public:
  Buyer(const Plan& plan, StatesView<const double> initial, double dt, SolverQueue& queue,
        Committee& committee, const BuyHooks& hooks, double trust_limit)
      : dt_(dt),
        queue_(queue),
        committee_(committee),
        hooks_(hooks),
        trust_limit_(trust_limit),
        rows_(committee, plan.purchases.size()) {
    for (const Purchase& purchase : plan.purchases) {
      const auto u0 = initial.row(purchase.candidate);
      trips_.push_back(
          {purchase.candidate, Walk(purchase.pattern), {u0.begin(), u0.end()}, {}, false});
    }
  }

  // Nobody waits for somebody else's query: replies that are there are taken first, then all trips
  // that need the mean model make one step together, then all that must be judged are judged
  // together, and only then the queue is waited for.
  std::vector<Trip> run() {
    for (std::size_t t = 0; t < trips_.size(); ++t) send(t);
    for (;;) {
      const bool idle = at_mean_.empty() && at_band_.empty();
      if (queue_.open() > 0 && (queue_.ready() || idle))
        take(queue_.next());
      else if (!at_mean_.empty())
        advance_by_mean();
      else if (!at_band_.empty())
        judge();
      else
        return std::move(trips_);
    }
  }

 private:
  // Brings a trip to whoever makes its next step; recorded answers are used on the way.
  void send(std::size_t t) {
    Trip& trip = trips_[t];
    while (trip.walk.next() == Walk::Next::solver) {
      const std::size_t step = trip.walk.step();
      const Answer* recorded = hooks_.recorded ? hooks_.recorded(trip.candidate, step) : nullptr;
      if (recorded == nullptr) {
        if (trip.synthetic() && trust_limit_ < kNoLimit)
          at_band_.push_back(t);
        else
          submit(t);
        return;
      }
      use(trip, *recorded);
    }
    if (trip.walk.next() == Walk::Next::mean_model) at_mean_.push_back(t);
  }

  void submit(std::size_t t) {
    const Trip& trip = trips_[t];
    queue_.submit(t, trip.state, static_cast<double>(trip.walk.step()) * dt_);
  }

  void take(Reply reply) {
    Trip& trip = trips_.at(reply.id);
    AnswerRecord record{trip.candidate, trip.walk.step(), std::move(reply.answer)};
    if (hooks_.record) hooks_.record(record);
    use(trip, std::move(record.answer));
    send(reply.id);
  }

  void use(Trip& trip, Answer answer) {
    if (answer.status == Answer::Status::refused) return trip.walk.refuse(std::move(answer.reason));
    if (answer.status == Answer::Status::failed) return trip.walk.fail(std::move(answer.reason));
    if (std::string reason = flaw(answer, trip.state.size()); !reason.empty())
      return trip.walk.fail(std::move(reason));
    trip.bought.push_back(
        {trip.candidate, trip.walk.step(), std::move(trip.state), answer.state, answer.seconds});
    trip.state = std::move(answer.state);
    trip.walk.advance();
  }

  // What the committee is asked about.
  struct Inputs {
    States<float> states;
    std::vector<double> time;
  };
  Inputs inputs_of(std::span<const std::size_t> together) const {
    Inputs inputs{States<float>(committee_.grid(), together.size()), {}};
    for (std::size_t r = 0; r < together.size(); ++r) {
      const Trip& trip = trips_[together[r]];
      convert(trip.state, inputs.states.row(r));
      inputs.time.push_back(input_time(trip.walk.step(), trip.walk.pattern().steps()));
    }
    return inputs;
  }

  // Lets those states of the mean model pass to the solver on which the members agree.
  void judge() {
    const std::vector<std::size_t> together = std::exchange(at_band_, {});
    const Inputs inputs = inputs_of(together);
    const auto spreads = one_step_spreads(committee_, inputs.states.view(), inputs.time);
    for (std::size_t r = 0; r < together.size(); ++r) {
      if (spreads[r] <= trust_limit_) {
        submit(together[r]);
        continue;
      }
      Trip& trip = trips_[together[r]];
      trip.distrusted = true;
      trip.walk.refuse(
          fmt::format("the members' spread after one step is {}, above the limit of {}", spreads[r],
                      trust_limit_));
    }
  }

  void advance_by_mean() {
    const std::vector<std::size_t> together = std::exchange(at_mean_, {});
    const std::size_t n = together.size();
    Inputs inputs = inputs_of(together);
    std::vector<std::size_t> index(n);
    std::iota(index.begin(), index.end(), std::size_t{0});
    committee_.put(rows_, 0, inputs.states.view());
    committee_.advance(rows_, index, std::vector<int>(n, kMean), inputs.time, rows_, index);
    committee_.get(rows_, 0, inputs.states.view());
    for (std::size_t r = 0; r < n; ++r) {
      convert(std::as_const(inputs.states).row(r), trips_[together[r]].state);
      trips_[together[r]].walk.advance();
      send(together[r]);
    }
  }

  double dt_;
  SolverQueue& queue_;
  Committee& committee_;
  const BuyHooks& hooks_;
  double trust_limit_;
  ResidentRows rows_;
  std::vector<Trip> trips_;
  std::vector<std::size_t> at_mean_;  // trips whose next step is the mean model's
  std::vector<std::size_t> at_band_;  // trips whose state must be judged before it is asked about
};

}  // namespace

Delivery buy(const Plan& plan, std::size_t budget, StatesView<const double> initial, double dt,
             SolverQueue& queue, Committee& committee, const BuyHooks& hooks,
             const BuyRules& rules) {
  const std::size_t planned = plan.cost();
  if (planned > budget)
    throw Error(ErrorKind::internal,
                fmt::format("a plan of {} steps for a budget of {}", planned, budget));
  Delivery delivery;
  Ledger& ledger = delivery.ledger;
  ledger.budget = budget;
  ledger.unspent = budget - planned;
  ledger.passes = 1;
  ledger.pool_exhausted = plan.unspent > 0;
  Buyer buyer(plan, initial, dt, queue, committee, hooks, rules.trust_limit);
  for (Trip& trip : buyer.run()) {
    const Walk& walk = trip.walk;
    const std::size_t failed = walk.end() == Walk::End::failed ? 1 : 0;
    const std::size_t charged = rules.charge_failed ? failed : 0;
    ledger.bought += walk.bought();
    ledger.refused += walk.end() == Walk::End::refused ? 1 : 0;
    ledger.refused_by_trust += trip.distrusted ? 1 : 0;
    ledger.failed += failed;
    ledger.charged_failures += charged;
    ledger.unspent += walk.unspent() + failed - charged;
    if (walk.end() != Walk::End::finished) ledger.reasons.push_back(trouble(trip));
    for (Bought& bought : trip.bought) delivery.bought.push_back(std::move(bought));
  }
  require_balance(ledger);
  if (ledger.bought != delivery.bought.size())
    throw Error(ErrorKind::internal, fmt::format("{} steps bought, {} transitions stored",
                                                 ledger.bought, delivery.bought.size()));
  return delivery;
}

}  // namespace stap
