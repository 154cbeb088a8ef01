#include "study/make_rows.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

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

}  // namespace

RowMaker::RowMaker(const Sampler& sampler, std::shared_ptr<const Solver> solver, std::size_t lead,
                   AnswerLog& log)
    : sampler_(sampler), solver_(std::move(solver)), log_(log) {
  const double length = warm_up_before(cluster_start(lead, solver_->dt()), sampler_.warm_up());
  if (length > 0) warm_up_ = make_warm_up_solver(solver_, length);
}

double RowMaker::Leg::time_of(std::size_t number) const {
  if (number == begin) return time;
  return (static_cast<double>(number) - static_cast<double>(zero)) * solver.dt();
}

void RowMaker::make(const RowsWanted& wanted, Observer& observer, const StopAsked& stop) const {
  const double dt = solver_->dt();
  std::vector<Leg> legs;
  if (warm_up_) legs.push_back({*warm_up_, 0, 1, -sampler_.warm_up(), 1});
  if (wanted.times() > 1)
    legs.push_back({*solver_, first(), first() + wanted.times() - 1, cluster_start(wanted.lead, dt),
                    first() + wanted.lead - 1});
  Progress progress{.phase = wanted.phase, .done = 0, .total = 0, .unit = "solver steps"};
  for (const Leg& leg : legs) progress.total += wanted.rows * (leg.end - leg.begin);
  for (const Leg& leg : legs) walk(leg, wanted, progress, observer, stop);
}

std::vector<double> RowMaker::row(const RowsWanted& wanted, const LoggedAnswers& answers,
                                  std::size_t index) const {
  std::vector<double> states;
  for (std::size_t t = 0; t < wanted.times(); ++t) {
    const std::vector<double> state = state_at(wanted, answers, index, first() + t);
    states.insert(states.end(), state.begin(), state.end());
  }
  return states;
}

std::vector<double> RowMaker::state_at(const RowsWanted& wanted, const LoggedAnswers& answers,
                                       std::size_t index, std::size_t number) const {
  if (number > 0) {
    if (auto answer = answers.find(index, number)) return std::move(answer->state);
    throw Error(ErrorKind::internal,
                fmt::format("{}: state {} of row {} was not made", wanted.phase, number, index));
  }
  std::vector<double> state(sampler_.grid().values());
  sampler_.draw(wanted.stream, index, state);
  return state;
}

// All rows from the leg's first state to its last, as many at a time as memory allows.
void RowMaker::walk(const Leg& leg, const RowsWanted& wanted, Progress& progress,
                    Observer& observer, const StopAsked& stop) const {
  const auto queue = leg.solver.open();
  const LoggedAnswers before = log_.recorded(wanted.acquisition);
  const std::size_t values = leg.solver.grid().values();
  const std::size_t most = std::max(kLeastRows, kMostBytes / (values * sizeof(double)));
  std::unordered_map<std::uint64_t, Trip> trips;  // by index
  const auto ask = [&](const Trip& trip) {
    queue->submit({.id = trip.index,
                   .state = trip.state,
                   .time = leg.time_of(trip.number),
                   .params = {},
                   .steps = std::min(leg.end - trip.number, leg.solver.steps_at_once())});
  };
  std::size_t next = 0;
  const auto enter = [&] {
    for (; next < wanted.rows && trips.size() < most; ++next) {
      std::size_t number = leg.begin;
      while (number < leg.end && before.contains(next, number + 1)) ++number;
      progress.done += number - leg.begin;
      if (number == leg.end) continue;
      const Trip trip{next, number, state_at(wanted, before, next, number)};
      ask(trip);
      trips.emplace(next, trip);
    }
  };

  enter();
  observer.progress(progress);
  while (!trips.empty()) {
    if (stop && stop()) throw Stopped();
    std::vector<Reply> replies;
    if (auto reply = queue->next(SolverQueue::Clock::now() + kPatience))
      replies.push_back(*std::move(reply));
    while (!replies.empty() && replies.size() < kMostReplies && queue->open() > 0 && queue->ready())
      if (auto reply = queue->next(SolverQueue::Clock::now())) replies.push_back(*std::move(reply));
    for (const Reply& reply : replies) note(wanted, trips.at(reply.id), reply.answer, values);
    log_.commit();
    for (Reply& reply : replies) {
      Trip& trip = trips.at(reply.id);
      const std::size_t made = reply.answer.states.size() / values;
      progress.done += made;
      trip.number += made;
      if (reply.answer.status != Answer::Status::ok) cannot(leg, wanted, trip, reply.answer);
      trip.state.assign(reply.answer.states.end() - static_cast<std::ptrdiff_t>(values),
                        reply.answer.states.end());
      if (trip.number == leg.end)
        trips.erase(reply.id);
      else
        ask(trip);
    }
    enter();
    if (!replies.empty()) observer.progress(progress);
  }
}

// What failed is not written down: the next call asks again.
void RowMaker::note(const RowsWanted& wanted, const Trip& trip, const Answer& answer,
                    std::size_t values) const {
  const std::size_t made = answer.states.size() / values;
  std::span<const double> input = trip.state;
  for (std::size_t i = 0; i < made; ++i) {
    const auto state = std::span(answer.states).subspan(i * values, values);
    log_.append(wanted.acquisition, {.candidate = trip.index,
                                     .step = trip.number + i + 1,
                                     .status = std::string(to_string(Answer::Status::ok)),
                                     .reason = {},
                                     .state = {state.begin(), state.end()},
                                     .seconds = answer.seconds / static_cast<double>(made),
                                     .attempts = i == 0 ? answer.attempts : 0,
                                     .input_hash = hash64(std::as_bytes(input))});
    input = state;
  }
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
