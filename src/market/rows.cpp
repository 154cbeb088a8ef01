#include "market/rows.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/answer_times.h"
#include "stap/core/error.h"
#include "stap/core/warm_up.h"
#include "stap/market/market.h"
#include "stap/study/clusters.h"

namespace stap {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of states that are asked about
constexpr std::size_t kLeastRows = 64;                     // so many all the same
constexpr std::size_t kKnown = 100;              // rows whose last answers tell what is usual
constexpr std::size_t kShare = 10, kAlways = 3;  // of the rows, draws that may fail; and so many
constexpr std::size_t kTextsShown = 3;           // failures in a message

// One at a time, each on disk before the next is begun.
DrawnRow draw_into(AnswerLog& log, const Sampler& sampler, const RowsWanted& wanted,
                   std::size_t index) {
  check_disk(log, wanted.phase);
  AnswerRecord record{.candidate = index, .status = Answer::Status::ok};
  DrawnRow row = draw_row(sampler, wanted, index);
  record.state = row.state;
  if (sampler.draws_parameters())
    record.state.insert(record.state.end(), row.parameters.begin(), row.parameters.end());
  log.append(wanted.acquisition, record);
  log.commit();
  return row;
}

class Rows final : public Customer {
 public:
  Rows(const Sampler& sampler, const RowsWanted& wanted, const std::vector<Leg>& legs,
       const FailurePolicy& policy, AnswerLog& log)
      : Customer(log, wanted.acquisition),
        sampler_(sampler),
        wanted_(wanted),
        legs_(legs),
        policy_(policy),
        before_(log.recorded(wanted.acquisition)),
        most_open_(std::max(kLeastRows, kMostBytes / (sampler.grid().values() * sizeof(double)))) {
    for (const AnswerKey& key : before_.in_vain()) ended_.insert(key.candidate);
  }

  void draw_all(Observer& observer, const StopAsked& stop) {
    const std::string phase = fmt::format("drawing the {}", wanted_.phase);
    for (std::size_t index = 0; index < end(); ++index) {
      if (before_.contains(index, 0)) continue;
      observer.progress({phase, index, end(), "initial conditions"});
      if (stop && stop()) throw Stopped();
      draw_into(log_, sampler_, wanted_, index);
    }
    observer.progress({phase, end(), end(), "initial conditions"});
    before_ = log_.recorded(acquisition_);
  }

  // Lets rows in as long as there is room.
  std::vector<SolverOrder> ask() override {
    std::vector<SolverOrder> orders;
    for (const std::size_t index : std::exchange(moved_, {})) orders.push_back(next_of(index));
    for (; next_ < end() && trips_.size() < most_open_; ++next_) {
      if (ended_.contains(next_)) continue;
      std::size_t number = 0;
      while (number < legs_.back().end && before_.contains(next_, number + 1)) ++number;
      done_ += steps_to(number);
      if (number == legs_.back().end) continue;
      trips_.emplace(next_, trip_of(next_, number));
      orders.push_back(next_of(next_));
    }
    return orders;
  }

  void take(std::uint64_t index, std::vector<AnswerRecord> records) override {
    Trip& trip = trips_.at(index);
    for (AnswerRecord& record : records) {
      if (record.status != Answer::Status::ok) return leave_out(record);
      done_ += leg_from(trip.number++).steps;
      trip.state = std::move(record.state);
    }
    if (trip.number == legs_.back().end)
      trips_.erase(index);
    else
      moved_.push_back(index);
  }

  std::string text() const override { return wanted_.phase; }
  Progress progress() const override {
    return {wanted_.phase, done_, wanted_.rows * steps_to(legs_.back().end), "solver steps"};
  }

  // Whether the place of a draw with this answer is another's.
  bool bears(Answer::Status status) const override {
    return policy_.breaker || (policy_.abort && status == Answer::Status::failed);
  }

  // "initial condition 7 of the pool cannot be warmed up: ..."
  std::string trouble(const AnswerRecord& record) const override {
    const std::size_t number = record.step - 1;
    const Leg& leg = leg_from(number);
    const char* what = record.status == Answer::Status::refused ? "was refused" : "failed";
    if (leg.warm_up)
      return fmt::format("{}: initial condition {} of the {} cannot be warmed up: {}",
                         sampler_.name(), record.candidate, wanted_.phase, record.reason);
    const std::size_t step = number - leg.begin + 1;  // that was not made, from 1
    if (step < wanted_.lead)
      return fmt::format(
          "{}: initial condition {} of the {} cannot be warmed up: step {} of the {} that make its "
          "cluster {}: {}",
          sampler_.name(), record.candidate, wanted_.phase, step, wanted_.lead - 1, what,
          record.reason);
    return fmt::format("test trajectory {} {} at step {} of {}: {}", record.candidate, what,
                       step - wanted_.lead + 1, wanted_.steps, record.reason);
  }

  std::string other_way() const override { return "or choose initial conditions that it can do"; }

  // Their places must be others', too.
  std::size_t most_stragglers(double share) const override {
    if (!bears(Answer::Status::refused)) return 0;
    const std::size_t most = most_ended() + orders_.given_back;
    return std::min(Customer::most_stragglers(share), most - std::min(most, ended_.size()));
  }

  std::optional<double> known_seconds(const Solver& solver) const override {
    AnswerTimes times;
    for (const Leg& leg : legs_)
      for (std::size_t index = 0; leg.solver == &solver && index < std::min(end(), kKnown); ++index)
        if (const auto last = before_.find(index, leg.end)) times.add(last->seconds, 1);
    return times.usual(1);
  }

  bool too_many() const { return ended_.size() > most_ended(); }
  std::string verdict() const {
    return fmt::format("{} of {} draws failed, and at most {} may", ended_.size(),
                       std::min(end(), next_), most_ended());
  }

  void warn(Observer& observer) const {
    if (ended_.empty()) return;
    observer.warning(fmt::format("{}: {} of {} draws failed, and the next ones took their places{}",
                                 wanted_.phase, ended_.size(), end(),
                                 texts_.empty() ? "" : fmt::format(":{}", last_texts())));
  }

 private:
  // A row under way, with the state it has unless a solver has it.
  struct Trip {
    std::size_t number = 0;
    std::vector<double> state{}, parameters{};
  };

  // The draws that are rows, or may be, are those before this one.
  std::size_t end() const { return wanted_.rows + ended_.size(); }
  std::size_t most_ended() const { return std::max(wanted_.rows / kShare, kAlways); }
  const Leg& leg_from(std::size_t number) const {
    return number < legs_.front().end ? legs_.front() : legs_.back();
  }

  // Steps of the solver up to a state, those of a warm-up as the plan counts them.
  std::size_t steps_to(std::size_t number) const {
    std::size_t steps = 0;
    for (const Leg& leg : legs_)
      steps += leg.steps * (std::clamp(number, leg.begin, leg.end) - leg.begin);
    return steps;
  }

  Trip trip_of(std::size_t index, std::size_t number) const {
    DrawnRow drawn;
    if (before_.contains(index, 0))
      drawn =
          recorded_row(sampler_, wanted_, index, recorded_state(wanted_, before_, index, 0).state);
    else if (number > 0)  // as drawn it is not asked about any more
      drawn.parameters = draw_parameters(wanted_.parameters, wanted_.stream, index);
    else
      drawn = sampler_.expensive() ? draw_into(log_, sampler_, wanted_, index)
                                   : draw_row(sampler_, wanted_, index);
    if (number > 0) drawn.state = recorded_state(wanted_, before_, index, number).state;
    return {number, std::move(drawn.state), std::move(drawn.parameters)};
  }

  SolverOrder next_of(std::size_t index) {
    Trip& trip = trips_.at(index);
    const Leg& leg = leg_from(trip.number);
    return {leg.solver,
            {index, trip.number + 1},
            {.id = index,
             .state = std::move(trip.state),
             .time = leg.time_of(trip.number),
             .params = trip.parameters,
             .steps = std::min(leg.end - trip.number, leg.solver->steps_at_once())}};
  }

  void leave_out(const AnswerRecord& record) {
    const std::string text = trouble(record);
    const std::size_t number = record.step - 1;
    const Leg& leg = leg_from(number);
    const char* whole = !leg.warm_up && number >= leg.zero
                            ? "; a test set must be whole, so choose other initial conditions or "
                              "solver options"
                            : "";
    if (!bears(record.status)) throw Error(ErrorKind::numerics, text + whole);
    ended_.insert(record.candidate);
    trips_.erase(record.candidate);
    texts_.push_back(text);
    if (!too_many()) return;
    throw Error(ErrorKind::solver,
                fmt::format("{}: {}, so asking stops{}:{}\n"
                            "all answers are kept, and failures do not count: fix "
                            "the solver, {}, and give the same command again",
                            wanted_.phase, verdict(),
                            texts_.size() > kTextsShown ? ", the last of them" : "", last_texts(),
                            other_way()));
  }

  std::string last_texts() const {
    std::string text;
    for (std::size_t i = texts_.size() - std::min(kTextsShown, texts_.size()); i < texts_.size();
         ++i)
      text += "\n  " + texts_[i];
    return text;
  }

  const Sampler& sampler_;
  const RowsWanted& wanted_;
  const std::vector<Leg>& legs_;  // at least one; the second begins where the first ends
  FailurePolicy policy_;
  LoggedAnswers before_;
  std::size_t most_open_;
  std::unordered_map<std::uint64_t, Trip> trips_;  // by index
  std::vector<std::size_t> moved_;
  std::set<std::size_t> ended_;     // draws that failed
  std::vector<std::string> texts_;  // of those of this process
  std::size_t next_ = 0;            // row to enter
  std::size_t done_ = 0;            // steps
};

}  // namespace

RowMaker::RowMaker(const Sampler& sampler, std::shared_ptr<const Solver> solver, std::size_t lead)
    : sampler_(sampler), solver_(std::move(solver)) {
  const double length = warm_up_before(cluster_start(lead, solver_->dt()), sampler_.warm_up());
  if (length <= 0) return;
  warm_up_ = make_warm_up_solver(solver_, length);
  warm_up_steps_ = static_cast<std::size_t>(std::max(std::round(length / solver_->dt()), 1.0));
}

std::vector<Leg> RowMaker::legs(const RowsWanted& wanted) const {
  std::vector<Leg> all;
  if (warm_up_) all.push_back({warm_up_.get(), true, 0, 1, warm_up_steps_, -sampler_.warm_up(), 1});
  if (wanted.times() > 1)
    all.push_back({solver_.get(), false, first(), first() + wanted.times() - 1, 1,
                   cluster_start(wanted.lead, solver_->dt()), first() + wanted.lead - 1});
  return all;
}

void RowMaker::make(const RowsWanted& wanted, AnswerLog& log, Observer& observer,
                    const StopAsked& stop) const {
  const std::vector<Leg> all = legs(wanted);
  Rows rows(sampler_, wanted, all, solver_->failure_policy(), log);
  if (sampler_.expensive()) rows.draw_all(observer, stop);
  if (all.empty()) return;
  Customer* const customers[] = {&rows};
  try {
    Market().serve(customers, observer, stop,
                   [&](std::span<const OpenQuestion>) -> std::vector<Reply> {
                     throw Error(ErrorKind::config,
                                 fmt::format("the {} needs {}, but it answers by hand: give a file "
                                             "of states, and of trajectories for a test set, or "
                                             "none of these",
                                             wanted.phase, solver_->name()));
                   });
  } catch (const Error&) {
    if (rows.too_many())
      log.revoke(wanted.acquisition, log.recorded(wanted.acquisition).in_vain(), rows.verdict());
    throw;
  }
  rows.warn(observer);
}

}  // namespace stap
