#include "stap/acquire/buy.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "stap/core/committee.h"
#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

// One trajectory under way.
struct Trip {
  std::size_t candidate;
  Walk walk;
  std::vector<double> state;  // at walk.step()
  std::vector<Bought> bought;
};

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
        Committee& committee, const BuyHooks& hooks)
      : dt_(dt),
        queue_(queue),
        committee_(committee),
        hooks_(hooks),
        rows_(committee, plan.purchases.size()) {
    for (const Purchase& purchase : plan.purchases) {
      const auto u0 = initial.row(purchase.candidate);
      trips_.push_back({purchase.candidate, Walk(purchase.pattern), {u0.begin(), u0.end()}, {}});
    }
  }

  // Nobody waits for somebody else's query: replies that are there are taken first, then all trips
  // that need the mean model make one step together, and only then the queue is waited for.
  std::vector<Trip> run() {
    for (std::size_t t = 0; t < trips_.size(); ++t) send(t);
    for (;;) {
      if (queue_.open() > 0 && (queue_.ready() || at_mean_.empty()))
        take(queue_.next());
      else if (!at_mean_.empty())
        advance_by_mean();
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
        queue_.submit(t, trip.state, static_cast<double>(step) * dt_);
        return;
      }
      use(trip, *recorded);
    }
    if (trip.walk.next() == Walk::Next::mean_model) at_mean_.push_back(t);
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

  void advance_by_mean() {
    const std::vector<std::size_t> together = std::exchange(at_mean_, {});
    const std::size_t n = together.size();
    States<float> states(committee_.grid(), n);
    std::vector<std::size_t> index(n);
    std::vector<double> time(n);
    for (std::size_t r = 0; r < n; ++r) {
      const Trip& trip = trips_[together[r]];
      convert(trip.state, states.row(r));
      index[r] = r;
      time[r] = input_time(trip.walk.step() + 1, trip.walk.pattern().steps());
    }
    committee_.put(rows_, 0, states.view());
    committee_.advance(rows_, index, std::vector<int>(n, kMean), time, rows_, index);
    committee_.get(rows_, 0, states.view());
    for (std::size_t r = 0; r < n; ++r) {
      convert(std::as_const(states).row(r), trips_[together[r]].state);
      trips_[together[r]].walk.advance();
      send(together[r]);
    }
  }

  double dt_;
  SolverQueue& queue_;
  Committee& committee_;
  const BuyHooks& hooks_;
  ResidentRows rows_;
  std::vector<Trip> trips_;
  std::vector<std::size_t> at_mean_;  // trips whose next step is the mean model's
};

}  // namespace

Delivery buy(const Plan& plan, std::size_t budget, StatesView<const double> initial, double dt,
             SolverQueue& queue, Committee& committee, const BuyHooks& hooks) {
  const std::size_t planned = plan.cost();
  if (planned > budget)
    throw Error(ErrorKind::internal,
                fmt::format("a plan of {} steps for a budget of {}", planned, budget));
  Delivery delivery;
  Ledger& ledger = delivery.ledger;
  ledger.budget = budget;
  ledger.unspent = budget - planned;
  for (Trip& trip : Buyer(plan, initial, dt, queue, committee, hooks).run()) {
    const Walk& walk = trip.walk;
    ledger.bought += walk.bought();
    ledger.refused += walk.end() == Walk::End::refused ? 1 : 0;
    ledger.failed += walk.end() == Walk::End::failed ? 1 : 0;
    ledger.unspent += walk.unspent();
    if (walk.end() != Walk::End::finished)
      ledger.reasons.push_back(
          fmt::format("candidate {}, step {}: {}", trip.candidate, walk.step(), walk.reason()));
    for (Bought& bought : trip.bought) delivery.bought.push_back(std::move(bought));
  }
  if (ledger.bought != delivery.bought.size() ||
      ledger.bought + ledger.failed + ledger.unspent != budget)
    throw Error(
        ErrorKind::internal,
        fmt::format("the ledger does not add up: {} bought ({} stored) + {} failed + {} "
                    "unspent, budget {}",
                    ledger.bought, delivery.bought.size(), ledger.failed, ledger.unspent, budget));
  return delivery;
}

}  // namespace stap
