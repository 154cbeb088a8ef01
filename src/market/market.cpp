#include "stap/market/market.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "market/queue_driver.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;

// Waiting for a reply, where there are other queues to look at.
constexpr std::chrono::milliseconds kShortWait{10};
constexpr std::chrono::seconds kShowEvery{1};

bool may_answer(const std::unique_ptr<QueueDriver>& driver) {
  return driver->open() && !driver->waits_for_people();
}

}  // namespace

void check_disk(const AnswerLog& log, const std::string& customer) {
  if (log.on_reserve())
    throw Error(ErrorKind::storage,
                fmt::format("{}: the disk is full; answers so far are kept in {}, in room "
                            "held for them: make room, and the same command continues",
                            customer, log.folder().string()));
}

Market::Market() = default;
Market::~Market() = default;

void Market::serve(std::span<Customer* const> customers, Observer& observer, const StopAsked& stop,
                   const AnswerQuestions& people) {
  customers_ = customers;
  observer_ = &observer;
  stop_ = &stop;
  shown_ = {};
  try {
    buy(people);
  } catch (...) {
    for (const auto& driver : drivers_) driver->keep();
    throw;
  }
  asked_ = nullptr;
  for (const auto& driver : drivers_) driver->clear();
}

void Market::buy(const AnswerQuestions& people) {
  for (Customer* customer : customers_) {
    look();
    order(*customer);
    // Planning may take minutes: what others wait for goes on in between.
    for (std::size_t d = 0; d < drivers_.size(); ++d)
      if (drivers_[d]->ready()) serve(*drivers_[d], Clock::now());
  }
  tell_progress();
  while (std::ranges::any_of(drivers_, &QueueDriver::open)) {
    look();
    show();
    const auto comes = std::ranges::count_if(drivers_, may_answer);
    if (comes == 0) ask_people(people);
    for (std::size_t d = 0; d < drivers_.size(); ++d) {
      look();
      if (may_answer(drivers_[d]))
        serve(*drivers_[d], Clock::now() + (comes == 1 ? kPatience : kShortWait));
    }
  }
}

void Market::serve(QueueDriver& driver, Clock::time_point until) {
  const std::vector<Customer*> touched = driver.serve(until);
  for (Customer* customer : touched) order(*customer);
  for (Customer* customer : driver.give_back_stragglers()) order(*customer);
  if (!touched.empty()) tell_progress();
}

// Plans and mean models of many runs would not fit on a device all at once.
void Market::order(Customer& customer) {
  if (asked_ != nullptr && asked_ != &customer) asked_->rest();
  asked_ = &customer;
  std::vector<SolverOrder> orders;
  try {
    orders = customer.ask();
  } catch (const Stopped&) {  // planning was stopped: what is paid for is waited for
    wind_down();
    throw;
  }
  for (SolverOrder& order : orders) {
    const Solver& solver = *order.solver;
    auto driver =
        std::ranges::find_if(drivers_, [&](const auto& d) { return &d->solver() == &solver; });
    if (driver == drivers_.end())
      driver = drivers_.insert(driver, std::make_unique<QueueDriver>(solver));
    (*driver)->submit(customer, std::move(order));
  }
}

// Throws when it is time to stop.
void Market::look() {
  for (const Customer* customer : customers_)
    if (customer->log_.on_reserve()) {
      wind_down();
      check_disk(customer->log_, customer->text());
    }
  const StopAsked& stop = *stop_;
  if (!stop) return;
  if (stop.now()) throw Stopped();
  if (const auto end = stop.deadline()) {
    for (const auto& driver : drivers_) driver->end_by(*end);
    if (std::ranges::any_of(drivers_, may_answer) &&
        std::ranges::all_of(drivers_, [](const auto& d) { return !may_answer(d) || d->over(); })) {
      observer_->note("stopping: no query that waits would be answered in time");
      throw Stopped();
    }
  }
  if (!stop()) return;
  wind_down();
  throw Stopped();
}

// Begins nothing more and waits for what runs.
void Market::wind_down() {
  for (const auto& driver : drivers_) driver->hold();
  for (bool said = false; !stop_->now(); said = true) {
    WindingDown end;
    for (const auto& driver : drivers_) driver->count_running(end);
    if (end.running == 0) return;
    if (!said) observer_->note(fmt::format("stopping: {}; asked again, it ends them", end.text()));
    for (const auto& driver : drivers_)
      if (driver->open()) driver->collect(Clock::now() + kShortWait);
  }
}

void Market::ask_people(const AnswerQuestions& people) {
  std::vector<OpenQuestion> open;
  std::vector<QueueDriver*> asked;  // of each
  for (const auto& driver : drivers_) {
    for (OpenQuestion& question : driver->questions()) open.push_back(question);
    asked.resize(open.size(), driver.get());
  }
  std::vector<std::uint64_t> ids;
  for (const OpenQuestion& question : open) ids.push_back(question.query->id);
  std::vector<Reply> replies = people ? people(open) : std::vector<Reply>{};
  if (replies.empty()) throw Waiting();
  for (Reply& reply : replies) {
    QueueDriver& driver = *asked.at(reply.id);
    reply.id = ids[reply.id];
    driver.answer(std::move(reply));
  }
}

void Market::tell_progress() {
  if (customers_.empty()) return;
  Progress all = customers_.front()->progress();
  for (const Customer* customer : customers_.subspan(1)) {
    const Progress one = customer->progress();
    all.done += one.done;
    all.total += one.total;
  }
  observer_->progress(all);
}

// Tells those who look from outside, now and then.
void Market::show() {
  if (Clock::now() - shown_ < kShowEvery) return;
  shown_ = Clock::now();
  std::map<const Customer*, OpenOrders> open;
  for (const auto& driver : drivers_) driver->add_open(open);
  for (const Customer* customer : customers_) customer->show(std::move(open[customer]));
}

}  // namespace stap
