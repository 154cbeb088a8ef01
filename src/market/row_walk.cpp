#include "market/row_walk.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/answer_times.h"
#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "stap/core/solver_queue.h"
#include "stap/core/stop.h"

namespace stap {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of states that are asked about
constexpr std::size_t kLeastRows = 64;                     // so many all the same
constexpr std::size_t kMostReplies = 4096;                 // of one commit
constexpr std::size_t kKnown = 100;  // rows whose last answers tell what is usual

// A row under way, with the state it has.
struct Trip {
  std::size_t index, number;
  std::vector<double> state;
};

// A failure is not written down unless it is `kept`: the next call asks again.
void note(const RowsWanted& wanted, std::size_t index, std::size_t number,
          std::span<const double> input, const Answer& answer, bool kept, AnswerLog& log) {
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
  if (kept)
    log.append(wanted.acquisition, {.candidate = index,
                                    .step = number + made + 1,
                                    .status = std::string(to_string(answer.status)),
                                    .reason = answer.reason,
                                    .state = {},
                                    .seconds = made == 0 ? answer.seconds : 0.0,
                                    .attempts = made == 0 ? answer.attempts : 0,
                                    .input_hash = hash64(std::as_bytes(input))});
}

// "initial condition 7 of the pool cannot be warmed up: ..."
std::string trouble(const Sampler& sampler, const Leg& leg, const RowsWanted& wanted,
                    const Trip& trip, const Answer& answer) {
  const char* what = answer.status == Answer::Status::refused ? "was refused" : "failed";
  if (leg.warm_up)
    return fmt::format("{}: initial condition {} of the {} cannot be warmed up: {}", sampler.name(),
                       trip.index, wanted.phase, answer.reason);
  const std::size_t step = trip.number - leg.begin + 1;  // that was not made, from 1
  if (step < wanted.lead)
    return fmt::format(
        "{}: initial condition {} of the {} cannot be warmed up: step {} of the {} that make its "
        "cluster {}: {}",
        sampler.name(), trip.index, wanted.phase, step, wanted.lead - 1, what, answer.reason);
  return fmt::format("test trajectory {} {} at step {} of {}: {}", trip.index, what,
                     step - wanted.lead + 1, wanted.steps, answer.reason);
}

class RowWalk {
 public:
  RowWalk(const Sampler& sampler, const Leg& leg, Tally& tally, AnswerLog& log, Progress& progress,
          Observer& observer, const StopAsked& stop)
      : sampler_(sampler),
        leg_(leg),
        tally_(tally),
        wanted_(tally.wanted),
        end_(tally.end()),
        log_(log),
        progress_(progress),
        observer_(observer),
        stop_(stop),
        values_(leg.solver.grid().values()),
        before_(log.recorded(wanted_.acquisition)),
        queue_(leg.solver.open()) {}

  void go() {
    enter();
    observer_.progress(progress_);
    while (!trips_.empty() || next_ < end_) {
      look();
      std::vector<Reply> replies = receive();
      if (replies.empty() && queue_->people() != nullptr)
        throw Error(ErrorKind::config,
                    fmt::format("the {} needs {}, but it answers by hand: give a file of states, "
                                "and of trajectories for a test set, or none of these",
                                wanted_.phase, leg_.solver.name()));
      for (Reply& reply : replies) take(reply);
      enter();
      if (!replies.empty()) observer_.progress(progress_);
    }
  }

 private:
  bool stopped() const { return stop_ && stop_(); }
  // Throws when it is time to stop.
  void look() {
    if (!stop_) return;
    if (const auto end = stop_.deadline(); end && end != end_by_) {
      end_by_ = end;
      queue_->close({.by = *end, .usual = usual_before()});
    }
    if (end_by_ && queue_->open() > 0 && queue_->over()) {
      observer_.note("stopping: no query that waits would be answered in time");
      throw Stopped();
    }
    if (!stop_()) return;
    wind_down();
    throw Stopped();
  }
  std::size_t made(const Reply& reply) const { return reply.answer.states.size() / values_; }
  std::size_t steps_of(const Trip& trip) const {
    return std::min(leg_.end - trip.number, leg_.solver.steps_at_once());
  }

  // Lets rows in as long as there is room.
  void enter() {
    const std::size_t most = std::max(kLeastRows, kMostBytes / (values_ * sizeof(double)));
    for (; next_ < end_ && trips_.size() < most; ++next_) {
      if (tally_.ended.contains(next_)) continue;
      if (leg_.begin > 0 && !before_.contains(next_, leg_.begin)) continue;  // in another's place
      std::size_t number = leg_.begin;
      while (number < leg_.end && before_.contains(next_, number + 1)) ++number;
      if (number < leg_.end && stopped()) return;
      progress_.done += number - leg_.begin;
      if (number == leg_.end) continue;
      const Trip trip{next_, number,
                      number == 0 ? drawn(sampler_, wanted_, before_, next_)
                                  : recorded(wanted_, before_, next_, number).state};
      ask(trip);
      trips_.emplace(next_, trip);
    }
  }

  // What a step of this leg took so far.
  double usual_before() const {
    AnswerTimes before;
    for (std::size_t index = 0; index < std::min(end_, kKnown); ++index)
      if (const auto last = before_.find(index, leg_.end)) before.add(last->seconds, 1);
    return before.usual(1).value_or(0.0);
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
      const Answer::Status status = reply.answer.status;
      const bool ok = status == Answer::Status::ok;
      note(wanted_, trip.index, trip.number, trip.state, reply.answer, !ok && tally_.bears(status),
           log_);
      if (ok) times_.add(reply.answer.seconds, made(reply));
    }
    log_.commit();
    queue_->recorded();
    return replies;
  }

  void take(const Reply& reply) {
    Trip& trip = trips_.at(reply.id);
    progress_.done += made(reply);
    trip.number += made(reply);
    if (reply.answer.status != Answer::Status::ok) return leave_out(trip, reply.answer);
    tally_.breaker.add_good();
    trip.state.assign(reply.answer.states.end() - static_cast<std::ptrdiff_t>(values_),
                      reply.answer.states.end());
    if (trip.number == leg_.end)
      trips_.erase(reply.id);
    else
      ask(trip);
  }

  void leave_out(const Trip& trip, const Answer& answer) {
    std::string text = trouble(sampler_, leg_, wanted_, trip, answer);
    if (!tally_.bears(answer.status))
      throw Error(ErrorKind::numerics,
                  !leg_.warm_up && trip.number >= leg_.zero
                      ? text +
                            "; a test set must be whole, so choose other initial conditions or "
                            "solver options"
                      : text);
    tally_.ended.insert(trip.index);
    tally_.texts.push_back(text);
    if (answer.status == Answer::Status::failed)
      tally_.breaker.add({.candidate = trip.index, .reason = std::move(text)});
    trips_.erase(trip.index);
    if (tally_.too_many()) give_up();
  }

  [[noreturn]] void give_up() {
    const std::string verdict =
        tally_.breaker.tripped()
            ? tally_.breaker.verdict()
            : fmt::format("{} of {} draws failed, and at most {} may", tally_.ended.size(),
                          std::min(tally_.end(), next_), tally_.most());
    log_.revoke(wanted_.acquisition, log_.recorded(wanted_.acquisition).in_vain(), verdict);
    throw Error(ErrorKind::solver,
                fmt::format("{}: {}, so no more is asked{}:{}\n"
                            "everything that was answered is kept, and failures do not count: mend "
                            "the solver, or choose initial conditions that it can do, and give the "
                            "same command again",
                            wanted_.phase, verdict,
                            tally_.texts.size() > Tally::kShown ? ", the last of them" : "",
                            tally_.last_texts()));
  }

  // Begins nothing more and waits for what runs.
  void wind_down() {
    queue_->close({.hold = true});
    for (bool said = false; !stop_.now(); said = true) {
      WindingDown end;
      for (const Running& one : queue_->running())
        end.add(times_.usual(steps_of(trips_.at(one.id))), one.seconds);
      if (end.running == 0) return;
      if (!said) observer_.note(fmt::format("stopping: {}; asked again, it ends them", end.text()));
      receive();
    }
  }

  const Sampler& sampler_;
  const Leg& leg_;
  Tally& tally_;
  const RowsWanted& wanted_;
  std::size_t end_;  // of the draws
  AnswerLog& log_;
  Progress& progress_;
  Observer& observer_;
  const StopAsked& stop_;
  std::size_t values_;
  LoggedAnswers before_;
  std::unique_ptr<SolverQueue> queue_;
  std::unordered_map<std::uint64_t, Trip> trips_;  // by index
  AnswerTimes times_;
  std::optional<StopAsked::Clock::time_point> end_by_;
  std::size_t next_ = 0;  // row to enter
};

}  // namespace

double Leg::time_of(std::size_t number) const {
  if (number == begin) return time;
  return (static_cast<double>(number) - static_cast<double>(zero)) * solver.dt();
}

std::vector<double> drawn(const Sampler& sampler, const RowsWanted& wanted,
                          const LoggedAnswers& answers, std::size_t index) {
  if (sampler.dear()) return recorded(wanted, answers, index, 0).state;
  std::vector<double> state(sampler.grid().values());
  sampler.draw(wanted.stream, index, state);
  return state;
}

LoggedAnswer recorded(const RowsWanted& wanted, const LoggedAnswers& answers, std::size_t index,
                      std::size_t number) {
  if (auto answer = answers.find(index, number)) return *std::move(answer);
  throw Error(ErrorKind::internal,
              fmt::format("{}: state {} of row {} was not made", wanted.phase, number, index));
}

void walk_rows(const Sampler& sampler, const Leg& leg, Tally& tally, AnswerLog& log,
               Progress& progress, Observer& observer, const StopAsked& stop) {
  RowWalk(sampler, leg, tally, log, progress, observer, stop).go();
}

}  // namespace stap
