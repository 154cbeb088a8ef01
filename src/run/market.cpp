#include "run/market.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "run/counter.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;

// Waiting for a reply, where there are other queues to look at.
constexpr std::chrono::milliseconds kGlance{10};
constexpr std::chrono::seconds kShowEvery{1};

}  // namespace

Market::Market(std::span<const Run> runs) : runs_(runs) {}
Market::~Market() = default;

Counter& Market::counter_of(const Solver& solver) {
  const auto there =
      std::ranges::find_if(counters_, [&](const auto& c) { return &c->solver() == &solver; });
  if (there != counters_.end()) return **there;
  return *counters_.emplace_back(
      std::make_unique<Counter>(solver, [this](RoundPurchase& purchase) { return ask(purchase); }));
}

// Plans and mean models of many runs would not fit on a device all at once.
std::vector<Query> Market::ask(RoundPurchase& purchase) {
  if (asked_ != nullptr && asked_ != &purchase) asked_->rest();
  asked_ = &purchase;
  return purchase.ask();
}

// Throws when it is time to stop.
void Market::look(Observer& observer, const StopAsked& stop) {
  for (const Run& run : runs_)
    if (run.answers.on_reserve()) {
      wind_down(observer, stop);
      throw Error(
          ErrorKind::storage,
          fmt::format("{}: the disk is full; what was answered is written, in room that was "
                      "held for it: make room, and the same command goes on",
                      run.folder.path().string()));
    }
  if (!stop) return;
  if (stop.now()) throw Stopped();
  if (const auto end = stop.deadline()) {
    for (const auto& counter : counters_) counter->end_by(*end);
    const auto comes = [](const auto& c) { return c->open() && !c->waits_for_people(); };
    if (std::ranges::any_of(counters_, comes) &&
        std::ranges::all_of(counters_, [&](const auto& c) { return !comes(c) || c->over(); })) {
      observer.note("stopping: no query that waits would be answered in time");
      throw Stopped();
    }
  }
  if (!stop()) return;
  wind_down(observer, stop);
  throw Stopped();
}

// Begins nothing more and waits for what runs.
void Market::wind_down(Observer& observer, const StopAsked& stop) {
  for (const auto& counter : counters_) counter->hold();
  for (bool said = false; !stop.now(); said = true) {
    WindingDown end;
    for (const auto& counter : counters_) counter->count_running(end);
    if (end.running == 0) return;
    if (!said) observer.note(fmt::format("stopping: {}; asked again, it ends them", end.text()));
    for (const auto& counter : counters_)
      if (counter->open()) counter->collect(Clock::now() + kGlance);
  }
}

// Tells those who look from outside, now and then.
void Market::show(std::span<const std::unique_ptr<RoundPurchase>> purchases, Observer& observer) {
  if (Clock::now() - shown_ < kShowEvery) return;
  shown_ = Clock::now();
  std::map<const Run*, RunStatus> statuses;
  Progress progress{.phase = "buying", .done = 0, .total = 0, .unit = "solver steps"};
  for (const auto& purchase : purchases) {
    const RunStatus& status = statuses[&purchase->run()] = purchase->status();
    progress.done += status.spent;
    progress.total += status.budget;
  }
  observer.progress(progress);
  for (const auto& counter : counters_) counter->add_open(statuses);
  for (const auto& [run, status] : statuses) run->folder.write_status(status);
}

void Market::ask_people(const AnswerQuestions& answer) {
  std::vector<Question> open;
  for (const auto& counter : counters_)
    for (Question& question : counter->questions(runs_)) open.push_back(std::move(question));
  std::vector<Reply> replies = answer ? answer(std::move(open)) : std::vector<Reply>{};
  if (replies.empty()) throw Waiting();
  for (Reply& reply : replies)
    for (const auto& counter : counters_)
      if (counter->answer(reply)) break;
}

void Market::buy(std::span<const std::unique_ptr<RoundPurchase>> purchases, Observer& observer,
                 const StopAsked& stop, const AnswerQuestions& answer) {
  try {
    for (const auto& purchase : purchases) {
      look(observer, stop);
      counter_of(purchase->solver()).add(*purchase);
      // Planning may take minutes: what others wait for goes on in between.
      for (const auto& counter : counters_)
        if (counter->ready()) counter->serve(Clock::now());
    }
    shown_ = {};
    while (std::ranges::any_of(counters_, &Counter::open)) {
      const auto comes = [](const auto& c) { return c->open() && !c->waits_for_people(); };
      const auto open = std::ranges::count_if(counters_, comes);
      look(observer, stop);
      show(purchases, observer);
      if (open == 0) ask_people(answer);
      for (const auto& counter : counters_) {
        look(observer, stop);
        if (comes(counter)) counter->serve(Clock::now() + (open == 1 ? kPatience : kGlance));
      }
    }
  } catch (...) {
    for (const auto& counter : counters_) counter->keep();
    throw;
  }
  asked_ = nullptr;
  for (const auto& counter : counters_) counter->clear();
}

}  // namespace stap
