#include "market/queue_driver.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/shared_queue.h"
#include "stap/core/error.h"
#include "stap/core/parameters.h"

namespace stap {
namespace {

constexpr std::size_t kMostReplies = 1024;  // of one commit
constexpr std::size_t kFailuresShown = 3;   // failures in a message
constexpr std::size_t kWaitingShown = 100;  // of a customer
// A straggler takes so many times what is usual, and so many seconds.
constexpr double kSlow = 3.0, kSlowAtLeast = 1.0;

}  // namespace

QueueDriver::QueueDriver(const Solver& solver)
    : solver_(solver),
      queue_(solver.expensive() ? make_shared_queue(solver.open()) : solver.open()),
      breaker_(solver.failure_policy()) {}

void QueueDriver::submit(Customer& customer, SolverOrder order) {
  const auto known = std::ranges::find(customers_, &customer);
  const auto owner = static_cast<std::size_t>(known - customers_.begin());
  if (known == customers_.end()) customers_.push_back(&customer);
  Query& query = order.query;
  asked_.emplace(next_, Asked{owner, query.id, order.first, query.steps,
                              hash_of(query.state, query.params), query.params});
  ++customer.orders_.asked;
  ++customer.orders_.open;
  query.id = next_++;
  queue_->submit(std::move(query));
}

std::vector<Customer*> QueueDriver::serve(Clock::time_point until) {
  receive(until);
  commit();
  if (breaker_.tripped()) {
    keep();
    give_up();
  }
  return take();
}

bool QueueDriver::waits_for_people() const {
  return open() && !queue_->ready() && queue_->people() != nullptr;
}

std::vector<OpenQuestion> QueueDriver::questions() const {
  std::vector<OpenQuestion> all;
  const People* people = queue_->people();
  if (people == nullptr) return all;
  for (const Query* query : people->questions()) {
    const Asked& asked = asked_.at(query->id);
    all.push_back({customers_[asked.owner], asked.first, asked.input_hash, query});
  }
  return all;
}

void QueueDriver::collect(Clock::time_point until) {
  recorded_.clear();
  receive(until);
  commit();
}

void QueueDriver::end_by(Clock::time_point time) {
  if (end_ == time) return;
  Closing closing{.by = time};
  if (!end_ && !customers_.empty())
    closing.usual = customers_.front()->known_seconds(solver_).value_or(0.0);
  end_ = time;
  queue_->close(closing);
}

void QueueDriver::count_running(WindingDown& end) const {
  for (const Running& one : queue_->running())
    if (const auto asked = asked_.find(one.id); asked != asked_.end())
      end.add(times_.usual(asked->second.steps), one.seconds);
}

void QueueDriver::add_open(std::map<const Customer*, OpenOrders>& open) const {
  for (const Customer* customer : customers_) open[customer].usual = times_.usual(1).value_or(0.0);
  std::set<std::uint64_t> at_work;
  for (Running& one : queue_->running()) {
    const auto asked = asked_.find(one.id);
    if (asked == asked_.end()) continue;
    at_work.insert(one.id);
    const AnswerKey& first = asked->second.first;
    open[customers_[asked->second.owner]].running.push_back(
        {first.candidate, first.step, one.seconds, std::move(one.where)});
  }
  std::vector<std::uint64_t> waiting;
  for (const auto& [id, asked] : asked_)
    if (!at_work.contains(id)) waiting.push_back(id);
  std::ranges::sort(waiting);
  for (const std::uint64_t id : waiting) {
    const Asked& asked = asked_.at(id);
    std::vector<RunStatus::Query>& shown = open[customers_[asked.owner]].waiting;
    if (shown.size() < kWaitingShown) shown.push_back({asked.first.candidate, asked.first.step});
  }
}

void QueueDriver::keep() {
  commit();
  while (!revoked_ && ready()) {
    collect(Clock::now());
    if (recorded_.empty()) break;
  }
  if (breaker_.tripped()) revoke();
}

void QueueDriver::clear() {
  customers_.clear();
  breaker_.settle();
}

void QueueDriver::receive(Clock::time_point until) {
  while (open() && recorded_.size() < kMostReplies && (recorded_.empty() || queue_->ready())) {
    const auto reply = queue_->next(until);
    if (!reply) return;
    const auto asked = asked_.find(reply->id);
    if (asked == asked_.end()) continue;
    record(asked->second, reply->answer);
    asked_.erase(asked);
  }
}

void QueueDriver::record(const Asked& asked, const Answer& answer) {
  Customer& customer = *customers_[asked.owner];
  --customer.orders_.open;
  std::vector<AnswerRecord> records =
      records_of(answer, asked.first, asked.input_hash, solver_.grid().values(), asked.parameters);
  for (const AnswerRecord& record : records)
    if (record.status == Answer::Status::ok || customer.bears(record.status)) {
      customer.steps_.add(record.status);
      customer.log_.append(customer.acquisition_, record);
    }
  if (answer.status == Answer::Status::ok) {
    breaker_.add_good();
    times_.add(answer.seconds, asked.steps);
  } else if (answer.status == Answer::Status::failed) {
    const AnswerRecord& end = records.back();
    breaker_.add({asked.owner, end.candidate, end.step, customer.trouble(end)});
  }
  recorded_.push_back({asked.owner, asked.id, std::move(records)});
}

// One wait for the disk for all that was received for a customer.
void QueueDriver::commit() {
  for (Customer* customer : customers_) customer->log_.commit();
  queue_->recorded();
}

std::vector<Customer*> QueueDriver::take() {
  std::set<std::size_t> touched;
  for (Recorded& one : std::exchange(recorded_, {})) {
    customers_[one.owner]->take(one.id, std::move(one.records));
    touched.insert(one.owner);
  }
  std::vector<Customer*> theirs;
  for (const std::size_t owner : touched) theirs.push_back(customers_[owner]);
  return theirs;
}

std::vector<Customer*> QueueDriver::give_back_stragglers() {
  if (solver_.failure_policy().stragglers <= 0 || !open() || queue_->ready()) return {};
  const std::vector<Running> running = queue_->running();
  if (running.size() < queue_->open()) return {};  // others wait for a slot
  for (const Running& slow : running) {
    if (!is_straggler(slow)) continue;
    const Asked asked = asked_.at(slow.id);
    asked_.erase(slow.id);
    record(asked,
           {.status = Answer::Status::refused,
            .reason = fmt::format("given back as a straggler after {:.3g} s", slow.seconds)});
    ++customers_[asked.owner]->orders_.given_back;
    customers_[asked.owner]->log_.commit();
    queue_->give_back(slow.id);
  }
  return take();
}

bool QueueDriver::is_straggler(const Running& running) const {
  const auto asked = asked_.find(running.id);
  if (asked == asked_.end()) return false;  // one that could not be given back
  const std::optional<double> usual = times_.usual(asked->second.steps);
  if (!usual || running.seconds <= std::max(kSlowAtLeast, kSlow * *usual)) return false;
  const Customer& customer = *customers_[asked->second.owner];
  return customer.orders_.open + customer.orders_.given_back <=
         customer.most_stragglers(solver_.failure_policy().stragglers);
}

void QueueDriver::revoke() {
  if (std::exchange(revoked_, true)) return;
  std::map<std::size_t, std::vector<AnswerKey>> by_owner;
  for (const Failure& failure : breaker_.failures())
    by_owner[failure.owner].push_back({failure.candidate, failure.step});
  for (const auto& [owner, keys] : by_owner)
    customers_[owner]->log_.revoke(customers_[owner]->acquisition_, keys, breaker_.verdict());
}

void QueueDriver::give_up() const {
  const std::vector<Failure> failures = breaker_.failures();
  std::string text;
  for (std::size_t i = failures.size() - std::min(kFailuresShown, failures.size());
       i < failures.size(); ++i)
    text += "\n  " + failures[i].reason;
  // Networks have learned and plans were made from rounds that are closed.
  const std::string stand =
      breaker_.settled() == 0
          ? ""
          : fmt::format(
                "; {} more were of earlier rounds, which are closed, and stand in their "
                "ledgers",
                breaker_.settled());
  throw Error(
      ErrorKind::solver,
      fmt::format("{}: {}, so asking stops{}:{}\n"
                  "everything that was bought is kept, and {} not count{}: fix the solver "
                  "and give the same command again, which asks again; {}",
                  solver_.name(), breaker_.verdict(),
                  failures.size() > kFailuresShown ? ", the last of them" : "", text,
                  failures.size() == 1 ? std::string("this failure does")
                                       : fmt::format("these {} failures do", failures.size()),
                  stand,
                  solver_.failure_policy().abort
                      ? "solver.on_failure=skip continues in spite of them"
                      : customers_[failures.back().owner]->other_way()));
}

}  // namespace stap
