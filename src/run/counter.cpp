#include "run/counter.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/shared_queue.h"
#include "run/correspondence.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr std::size_t kMostReplies = 1024;  // of one commit
constexpr std::size_t kShown = 3;           // failures in a message
constexpr std::size_t kWaitingShown = 100;  // of a run, in its status
// A straggler takes so many times what is usual, and so many seconds.
constexpr double kSlow = 3.0, kSlowAtLeast = 1.0;

}  // namespace

Counter::Counter(const Solver& solver, Ask ask)
    : solver_(solver),
      ask_(std::move(ask)),
      queue_(solver.dear() ? make_shared_queue(solver.open()) : solver.open()),
      breaker_(solver.failure_policy()) {}

void Counter::add(RoundPurchase& purchase) {
  purchases_.push_back(&purchase);
  ask(purchases_.size() - 1);
}

void Counter::serve(Clock::time_point until) {
  receive(until);
  commit();
  if (breaker_.tripped()) {
    keep();
    give_up();
  }
  std::set<std::size_t> touched;
  for (const auto& [owner, reply] : std::exchange(replies_, {})) {
    purchases_[owner]->take(reply);
    touched.insert(owner);
  }
  for (const std::size_t which : touched) ask(which);
  give_back_stragglers();
}

bool Counter::waits_for_people() const {
  return open() && !queue_->ready() && queue_->people() != nullptr;
}

std::vector<Question> Counter::questions(std::span<const Run> runs) {
  people_.clear();
  std::vector<std::uint64_t> keys;
  for (const RoundPurchase* purchase : purchases_) keys.push_back(run_key(purchase->run()));
  std::vector<Question> all;
  const People* people = queue_->people();
  if (people == nullptr) return all;
  for (const Query* query : people->questions()) {
    const auto [owner, id, steps] = asked_.at(query->id);
    const Run& run = purchases_[owner]->run();
    const AnswerRecord subject = purchases_[owner]->subject(id);
    const std::size_t acquisition = run.transitions.acquisitions;
    all.push_back(
        {question_id(keys[owner], acquisition, subject.candidate, subject.step, subject.input_hash),
         static_cast<std::size_t>(&run - runs.data()), acquisition, subject.candidate, subject.step,
         *query});
    people_.emplace(all.back().id, query->id);
  }
  return all;
}

bool Counter::answer(Reply reply) {
  const auto found = people_.find(reply.id);
  if (found == people_.end()) return false;
  reply.id = found->second;
  people_.erase(found);
  return queue_->people()->answer(std::move(reply));
}

void Counter::collect(Clock::time_point until) {
  replies_.clear();
  receive(until);
  commit();
}

void Counter::end_by(Clock::time_point time) {
  if (end_ == time) return;
  Closing closing{.by = time};
  if (!end_ && !purchases_.empty())
    closing.usual = purchases_.front()->known_seconds().value_or(0.0);
  end_ = time;
  queue_->close(closing);
}

void Counter::count_running(WindingDown& end) const {
  for (const Running& one : queue_->running())
    if (const auto asked = asked_.find(one.id); asked != asked_.end())
      end.add(times_.usual(asked->second.steps), one.seconds);
}

void Counter::add_open(std::map<const Run*, RunStatus>& statuses) const {
  for (const RoundPurchase* purchase : purchases_)
    statuses[&purchase->run()].usual = times_.usual(1).value_or(0.0);
  std::set<std::uint64_t> at_work;
  for (Running& one : queue_->running()) {
    const auto asked = asked_.find(one.id);
    if (asked == asked_.end()) continue;
    at_work.insert(one.id);
    const RoundPurchase& purchase = *purchases_[asked->second.owner];
    const AnswerRecord subject = purchase.subject(asked->second.id);
    statuses[&purchase.run()].running.push_back(
        {subject.candidate, subject.step, one.seconds, std::move(one.where)});
  }
  std::vector<std::uint64_t> waiting;
  for (const auto& [id, asked] : asked_)
    if (!at_work.contains(id)) waiting.push_back(id);
  std::ranges::sort(waiting);
  for (const std::uint64_t id : waiting) {
    const Asked& asked = asked_.at(id);
    const RoundPurchase& purchase = *purchases_[asked.owner];
    std::vector<RunStatus::Query>& shown = statuses[&purchase.run()].waiting;
    if (shown.size() >= kWaitingShown) continue;
    const AnswerRecord subject = purchase.subject(asked.id);
    shown.push_back({subject.candidate, subject.step});
  }
}

void Counter::keep() {
  commit();
  while (!revoked_ && ready()) {
    collect(Clock::now());
    if (replies_.empty()) break;
  }
  if (breaker_.tripped()) revoke();
}

void Counter::clear() {
  purchases_.clear();
  breaker_.settle();
}

void Counter::receive(Clock::time_point until) {
  while (open() && replies_.size() < kMostReplies && (replies_.empty() || queue_->ready())) {
    auto reply = queue_->next(until);
    if (!reply) return;
    const auto asked = asked_.find(reply->id);
    if (asked == asked_.end()) continue;
    const auto [owner, id, steps] = asked->second;
    asked_.erase(asked);
    reply->id = id;
    AnswerRecord last = purchases_[owner]->record(*reply);
    if (last.status == Answer::Status::ok) {
      breaker_.add_good();
      times_.add(reply->answer.seconds, steps);
    }
    if (last.status == Answer::Status::failed)
      breaker_.add({owner, last.candidate, last.step, std::move(last.reason)});
    replies_.emplace_back(owner, *std::move(reply));
  }
}

// One wait for the disk for all that was received of a purchase.
void Counter::commit() {
  for (RoundPurchase* purchase : purchases_) purchase->commit();
  queue_->recorded();
}

void Counter::ask(std::size_t owner) {
  for (Query& query : ask_(*purchases_[owner])) {
    asked_.emplace(next_, Asked{owner, query.id, query.steps});
    query.id = next_++;
    queue_->submit(std::move(query));
  }
}

void Counter::give_back_stragglers() {
  if (solver_.failure_policy().stragglers <= 0 || !open() || queue_->ready()) return;
  const std::vector<Running> running = queue_->running();
  if (running.size() < queue_->open()) return;  // others wait for a slot
  std::set<std::size_t> touched;
  for (const Running& slow : running) {
    if (!is_straggler(slow)) continue;
    const auto [owner, id, steps] = asked_.at(slow.id);
    asked_.erase(slow.id);
    purchases_[owner]->give_back(
        id, fmt::format("given back as a straggler after {:.3g} s", slow.seconds));
    queue_->give_back(slow.id);
    touched.insert(owner);
  }
  for (const std::size_t which : touched) ask(which);
}

bool Counter::is_straggler(const Running& running) const {
  const auto asked = asked_.find(running.id);
  if (asked == asked_.end()) return false;  // one that could not be given back
  const std::optional<double> usual = times_.usual(asked->second.steps);
  if (!usual || running.seconds <= std::max(kSlowAtLeast, kSlow * *usual)) return false;
  const RoundPurchase& purchase = *purchases_[asked->second.owner];
  const double most = solver_.failure_policy().stragglers * static_cast<double>(purchase.asked());
  return static_cast<double>(purchase.open() + purchase.given_back()) <= std::floor(most);
}

void Counter::revoke() {
  if (std::exchange(revoked_, true)) return;
  std::map<std::size_t, std::vector<AnswerKey>> by_owner;
  for (const Failure& failure : breaker_.failures())
    by_owner[failure.owner].push_back({failure.candidate, failure.step});
  for (const auto& [owner, keys] : by_owner) purchases_[owner]->revoke(keys, breaker_.verdict());
}

void Counter::give_up() const {
  const std::vector<Failure> failures = breaker_.failures();
  std::string text;
  for (std::size_t i = failures.size() - std::min(kShown, failures.size()); i < failures.size();
       ++i)
    text += fmt::format("\n  {}, candidate {}, step {}: {}", purchases_[failures[i].owner]->text(),
                        failures[i].candidate, failures[i].step + 1, failures[i].reason);
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
      fmt::format(
          "{}: {}, so no more is asked{}:{}\n"
          "everything that was bought is kept, and {} not count{}: mend the solver and "
          "give the same command again, which asks once more; {} goes on in spite of them",
          solver_.name(), breaker_.verdict(), failures.size() > kShown ? ", the last of them" : "",
          text,
          failures.size() == 1 ? std::string("this failure does")
                               : fmt::format("these {} failures do", failures.size()),
          stand,
          solver_.failure_policy().abort ? "solver.on_failure=skip" : "solver.breaker=false"));
}

}  // namespace stap
