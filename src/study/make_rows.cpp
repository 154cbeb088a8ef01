#include "study/make_rows.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/answer_times.h"
#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "stap/core/solver_queue.h"
#include "stap/core/warm_up.h"
#include "stap/study/clusters.h"

namespace stap {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of states that are asked about
constexpr std::size_t kLeastRows = 64;                     // so many all the same
constexpr std::size_t kMostReplies = 4096;                 // of one commit
constexpr std::chrono::milliseconds kPatience{200};        // between two looks at `stop`

// The answer that led to state `number` of row `index`.
LoggedAnswer recorded(const RowsWanted& wanted, const LoggedAnswers& answers, std::size_t index,
                      std::size_t number) {
  if (auto answer = answers.find(index, number)) return *std::move(answer);
  throw Error(ErrorKind::internal,
              fmt::format("{}: state {} of row {} was not made", wanted.phase, number, index));
}

// What failed is not written down: the next call asks again.
void note(const RowsWanted& wanted, std::size_t index, std::size_t number,
          std::span<const double> input, const Answer& answer, AnswerLog& log) {
  const std::size_t values = input.size(), made = answer.states.size() / values;
  for (std::size_t i = 0; i < made; ++i) {
    const auto state = std::span(answer.states).subspan(i * values, values);
    log.append(wanted.acquisition, {.candidate = index,
                                    .step = number + i + 1,
                                    .status = std::string(to_string(Answer::Status::ok)),
                                    .reason = {},
                                    .state = {state.begin(), state.end()},
                                    .seconds = answer.seconds / static_cast<double>(made),
                                    .attempts = i == 0 ? answer.attempts : 0,
                                    .input_hash = hash64(std::as_bytes(input))});
    input = state;
  }
}

}  // namespace

RowMaker::RowMaker(const Sampler& sampler, std::shared_ptr<const Solver> solver, std::size_t lead)
    : sampler_(sampler), solver_(std::move(solver)) {
  const double length = warm_up_before(cluster_start(lead, solver_->dt()), sampler_.warm_up());
  if (length > 0) warm_up_ = make_warm_up_solver(solver_, length);
}

double RowMaker::Leg::time_of(std::size_t number) const {
  if (number == begin) return time;
  return (static_cast<double>(number) - static_cast<double>(zero)) * solver.dt();
}

// All rows from the leg's first state to its last, as many at a time as memory allows.
class RowMaker::Walk {
 public:
  Walk(const RowMaker& maker, const Leg& leg, const RowsWanted& wanted, AnswerLog& log,
       Progress& progress, Observer& observer, const StopAsked& stop)
      : maker_(maker),
        leg_(leg),
        wanted_(wanted),
        log_(log),
        progress_(progress),
        observer_(observer),
        stop_(stop),
        values_(leg.solver.grid().values()),
        before_(log.recorded(wanted.acquisition)),
        queue_(leg.solver.open()) {}

  void go() {
    enter();
    observer_.progress(progress_);
    while (!trips_.empty() || next_ < wanted_.rows) {
      if (stopped()) {
        wind_down();
        throw Stopped();
      }
      std::vector<Reply> replies = receive();
      for (Reply& reply : replies) take(reply);
      enter();
      if (!replies.empty()) observer_.progress(progress_);
    }
  }

 private:
  bool stopped() const { return stop_ && stop_(); }
  std::size_t made(const Reply& reply) const { return reply.answer.states.size() / values_; }
  std::size_t steps_of(const Trip& trip) const {
    return std::min(leg_.end - trip.number, leg_.solver.steps_at_once());
  }

  // Lets rows in as long as there is room.
  void enter() {
    const std::size_t most = std::max(kLeastRows, kMostBytes / (values_ * sizeof(double)));
    for (; next_ < wanted_.rows && trips_.size() < most; ++next_) {
      std::size_t number = leg_.begin;
      while (number < leg_.end && before_.contains(next_, number + 1)) ++number;
      if (number < leg_.end && stopped()) return;
      progress_.done += number - leg_.begin;
      if (number == leg_.end) continue;
      const Trip trip{next_, number,
                      number == 0 ? maker_.drawn(wanted_, next_)
                                  : recorded(wanted_, before_, next_, number).state};
      ask(trip);
      trips_.emplace(next_, trip);
    }
  }

  void ask(const Trip& trip) {
    queue_->submit({.id = trip.index,
                    .state = trip.state,
                    .time = leg_.time_of(trip.number),
                    .params = {},
                    .steps = steps_of(trip)});
  }

  // What has come, on disk; waits for it.
  std::vector<Reply> receive() {
    std::vector<Reply> replies;
    if (auto reply = queue_->next(SolverQueue::Clock::now() + kPatience))
      replies.push_back(*std::move(reply));
    while (!replies.empty() && replies.size() < kMostReplies && queue_->open() > 0 &&
           queue_->ready())
      if (auto reply = queue_->next(SolverQueue::Clock::now()))
        replies.push_back(*std::move(reply));
    for (const Reply& reply : replies) {
      const Trip& trip = trips_.at(reply.id);
      note(wanted_, trip.index, trip.number, trip.state, reply.answer, log_);
      if (reply.answer.status == Answer::Status::ok) times_.add(reply.answer.seconds, made(reply));
    }
    log_.commit();
    return replies;
  }

  void take(const Reply& reply) {
    Trip& trip = trips_.at(reply.id);
    progress_.done += made(reply);
    trip.number += made(reply);
    if (reply.answer.status != Answer::Status::ok) maker_.cannot(leg_, wanted_, trip, reply.answer);
    trip.state.assign(reply.answer.states.end() - static_cast<std::ptrdiff_t>(values_),
                      reply.answer.states.end());
    if (trip.number == leg_.end)
      trips_.erase(reply.id);
    else
      ask(trip);
  }

  // Begins nothing more and waits for what runs.
  void wind_down() {
    queue_->hold();
    for (bool said = false; !stop_.now(); said = true) {
      WindingDown end;
      for (const Running& one : queue_->running())
        end.add(times_.usual(steps_of(trips_.at(one.id))), one.seconds);
      if (end.running == 0) return;
      if (!said) observer_.note(fmt::format("stopping: {}; asked again, it ends them", end.text()));
      receive();
    }
  }

  const RowMaker& maker_;
  const Leg& leg_;
  const RowsWanted& wanted_;
  AnswerLog& log_;
  Progress& progress_;
  Observer& observer_;
  const StopAsked& stop_;
  std::size_t values_;
  LoggedAnswers before_;
  std::unique_ptr<SolverQueue> queue_;
  std::unordered_map<std::uint64_t, Trip> trips_;  // by index
  AnswerTimes times_;
  std::size_t next_ = 0;  // row to enter
};

void RowMaker::make(const RowsWanted& wanted, AnswerLog& log, Observer& observer,
                    const StopAsked& stop) const {
  const double dt = solver_->dt();
  std::vector<Leg> legs;
  if (warm_up_) legs.push_back({*warm_up_, 0, 1, -sampler_.warm_up(), 1});
  if (wanted.times() > 1)
    legs.push_back({*solver_, first(), first() + wanted.times() - 1, cluster_start(wanted.lead, dt),
                    first() + wanted.lead - 1});
  Progress progress{.phase = wanted.phase, .done = 0, .total = 0, .unit = "solver steps"};
  for (const Leg& leg : legs) progress.total += wanted.rows * (leg.end - leg.begin);
  for (const Leg& leg : legs) Walk(*this, leg, wanted, log, progress, observer, stop).go();
}

std::vector<double> RowMaker::row(const RowsWanted& wanted, const LoggedAnswers& answers,
                                  std::size_t index) const {
  std::vector<double> states, state = drawn(wanted, index);
  for (std::size_t number = 0;; ++number) {
    if (number >= first()) states.insert(states.end(), state.begin(), state.end());
    if (number + 1 == first() + wanted.times()) return states;
    LoggedAnswer answer = recorded(wanted, answers, index, number + 1);
    if (answer.input_hash != hash64(std::as_bytes(std::span<const double>(state))))
      throw Error(ErrorKind::data,
                  fmt::format("answer {} of row {} of the {} was recorded for another state: the "
                              "journal is not of these data, remove it with its folder",
                              number + 1, index, wanted.phase));
    state = std::move(answer.state);
  }
}

std::vector<double> RowMaker::drawn(const RowsWanted& wanted, std::size_t index) const {
  std::vector<double> state(sampler_.grid().values());
  sampler_.draw(wanted.stream, index, state);
  return state;
}

void RowMaker::cannot(const Leg& leg, const RowsWanted& wanted, const Trip& trip,
                      const Answer& answer) const {
  const std::string_view status = to_string(answer.status);
  if (&leg.solver != solver_.get())
    throw Error(ErrorKind::numerics,
                fmt::format("{}: initial condition {} of the {} cannot be warmed up: {}",
                            sampler_.name(), trip.index, wanted.phase, answer.reason));
  const std::size_t step = trip.number - leg.begin + 1;  // that was not made, from 1
  if (step < wanted.lead)
    throw Error(ErrorKind::numerics,
                fmt::format("{}: initial condition {} of the {} cannot be warmed up: step {} of "
                            "the {} that make its cluster was {}: {}",
                            sampler_.name(), trip.index, wanted.phase, step, wanted.lead - 1,
                            status, answer.reason));
  throw Error(ErrorKind::numerics,
              fmt::format("test trajectory {} was {} at step {} of {}: {}; a test set must be "
                          "whole, so choose other initial conditions or solver options",
                          trip.index, status, step - wanted.lead + 1, wanted.steps, answer.reason));
}

}  // namespace stap
