#include "stap/acquire/buyer.h"

#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "stap/acquire/trust.h"
#include "stap/core/committee.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr double kAnyTrust = std::numeric_limits<double>::infinity();

}  // namespace

struct Buyer::Trip {
  std::size_t candidate;
  Walk walk;
  std::vector<double> state;  // at walk.step()
  std::vector<double> parameters;
  std::vector<Bought> bought{};
  std::size_t asked = 0;    // steps of its open query
  bool distrusted = false;  // refused by the trust band

  // Whether the mean model made the state.
  bool synthetic() const { return walk.step() > 0 && !walk.pattern()[walk.step() - 1]; }
  // Bought steps that come next, one behind the other.
  std::size_t ones() const {
    const Pattern& pattern = walk.pattern();
    std::size_t end = walk.step();
    while (end < pattern.end() && pattern[end]) ++end;
    return end - walk.step();
  }
  // "candidate 7, step 3: failed: ...", the third one.
  std::string trouble() const {
    const char* what = distrusted                         ? "refused by the trust band"
                       : walk.end() == Walk::End::refused ? "refused"
                                                          : "failed";
    return fmt::format("candidate {}, step {}: {}: {}", candidate, walk.step() + 1, what,
                       walk.reason());
  }
};

struct Buyer::Errand {
  std::vector<Query> queries;
  std::vector<std::size_t> at_mean;  // trips whose next step is the mean model's
  std::vector<std::size_t> at_band;  // trips whose state must be judged before it is asked about
};

Buyer::Buyer(const Plan& plan, std::size_t budget, StatesView<const double> initial,
             const Solver& solver, Committee& committee, const BuyRules& rules, Recorded recorded,
             const RowParameters& parameters)
    : solver_(solver),
      committee_(committee),
      rules_(rules),
      recorded_(std::move(recorded)),
      rows_(committee, plan.purchases.size()) {
  const std::size_t planned = plan.cost();
  if (planned > budget)
    throw Error(ErrorKind::internal,
                fmt::format("a plan of {} steps for a budget of {}", planned, budget));
  if (initial.row_size != solver.grid().values())
    throw Error(ErrorKind::internal,
                fmt::format("candidates of {} values for {}, which takes {} ({})", initial.row_size,
                            solver.name(), solver.grid().values(), solver.grid().shape_text()));
  ledger_.budget = budget;
  ledger_.unspent = budget - planned;
  ledger_.passes = 1;
  ledger_.warm_up = plan.warm_up * plan.purchases.size();
  ledger_.pool_exhausted = plan.unspent > plan.warm_up;
  for (const Purchase& purchase : plan.purchases) {
    if (purchase.candidate >= initial.count)
      throw Error(ErrorKind::internal,
                  fmt::format("candidate {} of a pool of {}", purchase.candidate, initial.count));
    const auto u0 = initial.row(purchase.candidate);
    const auto own = parameters.row(purchase.candidate);
    trips_.push_back({purchase.candidate,
                      Walk(purchase.pattern),
                      {u0.begin(), u0.end()},
                      {own.begin(), own.end()}});
    moved_.push_back(trips_.size() - 1);
  }
}

Buyer::~Buyer() = default;

std::vector<Query> Buyer::ask() {
  Errand errand;
  for (const std::size_t t : std::exchange(moved_, {})) send(t, errand);
  while (!errand.at_mean.empty()) advance_by_mean(errand);
  if (!errand.at_band.empty()) judge(errand);
  for (const Query& query : errand.queries) trips_[query.id].asked = query.steps;
  open_ += errand.queries.size();
  return std::move(errand.queries);
}

AnswerKey Buyer::first_of(std::uint64_t query) const {
  if (query >= trips_.size() || trips_[query].asked == 0)
    throw Error(ErrorKind::internal, fmt::format("query {} is not open", query));
  return {trips_[query].candidate, trips_[query].walk.step()};
}

void Buyer::take(std::uint64_t query, std::vector<AnswerRecord> records) {
  const AnswerKey first = first_of(query);
  Trip& trip = trips_[query];
  const bool ended = !records.empty() && records.back().status != Answer::Status::ok;
  if (records.empty() || records.size() > trip.asked || records.front().key() != first ||
      (records.size() < trip.asked && !ended))
    throw Error(ErrorKind::internal,
                fmt::format("{} records of a query for {} steps", records.size(), trip.asked));
  for (AnswerRecord& record : records) {
    if (record.status == Answer::Status::ok && record.state.size() != trip.state.size())
      throw Error(ErrorKind::internal, fmt::format("a state of {} values, expected {}",
                                                   record.state.size(), trip.state.size()));
    use(trip, std::move(record));
  }
  trip.asked = 0;
  --open_;
  if (trip.walk.next() != Walk::Next::nothing) moved_.push_back(query);
}

Delivery Buyer::deliver() {
  if (!done()) throw Error(ErrorKind::internal, "a purchase is delivered before it is done");
  Delivery delivery;
  Ledger& ledger = delivery.ledger = ledger_;
  for (Trip& trip : trips_) {
    const Walk& walk = trip.walk;
    const std::size_t failed = walk.end() == Walk::End::failed ? 1 : 0;
    const std::size_t charged = rules_.charge_failed ? failed : 0;
    ledger.bought += walk.bought();
    ledger.refused += walk.end() == Walk::End::refused ? 1 : 0;
    ledger.refused_by_trust += trip.distrusted ? 1 : 0;
    ledger.failed += failed;
    ledger.charged_failures += charged;
    ledger.unspent += walk.unspent() + failed - charged;
    if (walk.end() != Walk::End::finished) ledger.reasons.push_back(trip.trouble());
    for (Bought& bought : trip.bought) delivery.bought.push_back(std::move(bought));
  }
  require_balance(ledger);
  if (ledger.bought != delivery.bought.size())
    throw Error(ErrorKind::internal, fmt::format("{} steps bought, {} transitions stored",
                                                 ledger.bought, delivery.bought.size()));
  return delivery;
}

// What the solver is asked next.
Query Buyer::question(const Trip& trip) const {
  return {.id = static_cast<std::uint64_t>(&trip - trips_.data()),
          .state = trip.state,
          .time = static_cast<double>(trip.walk.step()) * solver_.dt(),
          .params = trip.parameters,
          .steps = std::min(trip.ones(), solver_.steps_at_once())};
}

// Brings a trip to whoever makes its next step; recorded answers are used on the way.
void Buyer::send(std::size_t t, Errand& errand) {
  Trip& trip = trips_[t];
  while (trip.walk.next() == Walk::Next::solver) {
    std::optional<AnswerRecord> recorded;
    if (recorded_) recorded = recorded_(trip.candidate, trip.walk.step());
    if (!recorded) {
      if (trip.synthetic() && rules_.trust_limit < kAnyTrust)
        errand.at_band.push_back(t);
      else
        errand.queries.push_back(question(trip));
      return;
    }
    check(trip, *recorded);
    use(trip, std::move(*recorded));
  }
  if (trip.walk.next() == Walk::Next::mean_model) errand.at_mean.push_back(t);
}

void Buyer::use(Trip& trip, AnswerRecord record) {
  if (record.status == Answer::Status::refused) return trip.walk.refuse(std::move(record.reason));
  if (record.status == Answer::Status::failed) return trip.walk.fail(std::move(record.reason));
  trip.bought.push_back(
      {trip.candidate, trip.walk.step(), std::move(trip.state), record.state, record.seconds});
  trip.state = std::move(record.state);
  trip.walk.advance();
}

// Whether a recorded answer is one to the trip's state.
void Buyer::check(const Trip& trip, const AnswerRecord& record) const {
  const auto reject = [&](const std::string& why) {
    throw Error(ErrorKind::data, fmt::format("the recorded answer to candidate {}, step {} {}",
                                             trip.candidate, trip.walk.step() + 1, why));
  };
  if (record.status == Answer::Status::ok && record.state.size() != trip.state.size())
    reject(fmt::format("has {} values, expected {}", record.state.size(), trip.state.size()));
  const std::uint64_t here = hash_of(trip.state, trip.parameters);
  if (record.input_hash != 0 && record.input_hash != here)
    reject(fmt::format(
        "is one to another input (hash {:016x}, here {:016x}): a purchase "
        "continues only with the networks, the device and the instruction set it started with",
        record.input_hash, here));
}

// What the committee is asked about.
struct Buyer::Inputs {
  States<float> states;
  Conditions conditions;
};

Buyer::Inputs Buyer::inputs_of(std::span<const std::size_t> together) const {
  Inputs inputs{States<float>(committee_.grid(), together.size()), {}};
  for (std::size_t r = 0; r < together.size(); ++r) {
    const Trip& trip = trips_[together[r]];
    convert(trip.state, inputs.states.row(r));
    inputs.conditions.add(trip.walk.step(), trip.parameters);
  }
  return inputs;
}

// One step of the mean model for all that need one.
void Buyer::advance_by_mean(Errand& errand) {
  const std::vector<std::size_t> together = std::exchange(errand.at_mean, {});
  const std::size_t n = together.size();
  Inputs inputs = inputs_of(together);
  std::vector<std::size_t> index(n);
  std::iota(index.begin(), index.end(), std::size_t{0});
  committee_.put(rows_, 0, inputs.states.view(), inputs.conditions.view());
  committee_.advance(rows_, index, std::vector<int>(n, kMean), rows_, index);
  committee_.get(rows_, 0, inputs.states.view());
  for (std::size_t r = 0; r < n; ++r) {
    convert(std::as_const(inputs.states).row(r), trips_[together[r]].state);
    trips_[together[r]].walk.advance();
    send(together[r], errand);
  }
}

// Lets those states of the mean model pass to the solver on which the members agree.
void Buyer::judge(Errand& errand) {
  const std::vector<std::size_t> together = std::exchange(errand.at_band, {});
  const Inputs inputs = inputs_of(together);
  const auto spreads = one_step_spreads(committee_, inputs.states.view(), inputs.conditions.view());
  for (std::size_t r = 0; r < together.size(); ++r) {
    Trip& trip = trips_[together[r]];
    if (spreads[r] <= rules_.trust_limit) {
      errand.queries.push_back(question(trip));
      continue;
    }
    trip.distrusted = true;
    trip.walk.refuse(fmt::format("the members' spread after one step is {}, above the limit of {}",
                                 spreads[r], rules_.trust_limit));
  }
}

}  // namespace stap
