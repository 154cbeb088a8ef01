#include "couple/spool_session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "couple/spool_format.h"
#include "stap/core/error.h"
#include "stap/core/hash64.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using Clock = SpoolSession::Clock;
using std::chrono::milliseconds;

// Between two looks for answers: soon where they come, later where none does, and never so often
// that a slow file system has nothing else to do.
constexpr milliseconds kSoonest{10}, kLatest{500};
constexpr int kPauseOfCost = 5;
constexpr milliseconds kRight{100}, kClaims{1000}, kFresh{1000};
constexpr int kLossesMost = 10;  // servers that may go down with a query
constexpr int kFlawsMost = 20;   // looks at an answer that is damaged, or not to be seen yet
// Queries that lie there for servers to come: each is a file, and bytes.
constexpr std::size_t kWaitingLeast = 64, kWaitingMost = 1000, kWaitingBytes = 268435456;

std::uint64_t hash_of(const std::string& key) {
  return hash64(std::as_bytes(std::span(key)));
}

}  // namespace

SpoolSession::SpoolSession(SpoolFolder folder, double silence)
    : folder_(std::move(folder)),
      silence_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silence))),
      right_(folder_, silence),
      pause_(kSoonest) {}

bool SpoolSession::Item::held() const {
  return std::ranges::all_of(askers, [](const auto& one) { return one.first->held(); });
}

void SpoolSession::add(const std::string& id, SpoolProblem problem) {
  problems_.insert_or_assign(id, std::move(problem));
  if (begun_) put_problem(id);
}

// Servers look at it again and again: only what is new, damaged or missing is written.
void SpoolSession::put_problem(const std::string& id) {
  const std::string text = problem_text(problems_.at(id));
  const auto there = bytes_of(folder_.problem(id), text.size());
  if (there && std::ranges::equal(*there, std::as_bytes(std::span(text)))) return;
  folder_.put_problem(id, text);
}

void SpoolSession::ask(SpoolAsker& asker, std::uint64_t id, const std::string& key,
                       const Query& query) {
  const auto [item, first] = items_.try_emplace(key, Item{.query = query, .askers = {}});
  item->second.askers.emplace_back(&asker, id);
  if (item->second.where == Where::here) here_.push_back(key);  // first, or was held
  closed_.erase(hash_of(key));
  due_ = {};
}

void SpoolSession::look() {
  const auto now = Clock::now();
  if (now < due_) return;
  due_ = now + kRight;
  if (!right_.ours()) return;
  if (!begun_) first_look();
  if (now >= claims_due_) look_at_claims();
  if (now >= answers_due_) look_for_answers();
  if (now >= lost_due_) look_for_lost();
  put_queries();
  due_ = std::min({answers_due_, claims_due_, lost_due_});
}

// What an earlier process asked and we do not ask nobody waits for.
void SpoolSession::first_look() {
  for (const auto& [id, problem] : problems_) put_problem(id);
  for (const std::string& name : names_in(folder_.folder("queries"), true))
    if (const auto item = items_.find(name); item != items_.end())
      move(item->second, Where::waiting);
    else if (is_spool_key(name))
      remove_file(folder_.query(name));
  for (const std::string& name : names_in(folder_.folder("answers"), true)) old_.insert(name);
  look_at_claims();
  begun_ = true;
  lost_due_ = Clock::now() + silence_ / 2;
}

void SpoolSession::move(Item& item, Where where) {
  if (where == Where::waiting) ++waiting_;
  if (std::exchange(item.where, where) == Where::waiting) --waiting_;
  item.missing = {};
}

void SpoolSession::look_for_answers() {
  const auto begun = Clock::now();
  const bool fresh = begun - fresh_ >= kFresh;
  if (fresh) fresh_ = begun;
  answers_.clear();
  bool some = false;
  for (const std::string& name : names_in(folder_.folder("answers"), fresh)) {
    if (const auto item = items_.find(name); item != items_.end())
      some = take_answer(item) || some;
    else if (closed_.contains(hash_of(name)))
      remove_file(folder_.answer(name));
    else if (!taken_.contains(name))
      answers_.insert(name);
  }
  const auto now = Clock::now();
  pause_ = some ? Clock::duration(kSoonest) : std::min<Clock::duration>(pause_ * 3 / 2, kLatest);
  answers_due_ = now + std::max(pause_, kPauseOfCost * (now - begun));
}

bool SpoolSession::take_answer(Items::iterator item) {
  const std::string key = item->first;
  const Outline& outline = problems_.at(key.substr(0, kProblemDigits)).outline;
  const std::size_t steps = item->second.query.steps;
  const auto bytes = bytes_of(folder_.answer(key), answer_bytes_most(outline.grid, steps));
  Answer answer;
  const std::string flaw =
      bytes ? read_answer(*bytes, key, outline.grid, steps, answer) : "it cannot be read";
  if (!flaw.empty()) {
    if (++item->second.flaws % kFlawsMost != 0) return false;
    remove_file(folder_.answer(key));
    return ask_again(item), false;
  }
  // What failed for an earlier process may have been mended since.
  if (old_.erase(key) > 0 && answer.status != Answer::Status::ok) {
    remove_file(folder_.answer(key));
    return false;
  }
  deliver(item, answer);
  return true;
}

void SpoolSession::deliver(Items::iterator item, const Answer& answer) {
  const std::string key = item->first;
  if (item->second.where == Where::waiting) remove_file(folder_.query(key));
  // Its server takes the claim away, unless another had it before.
  if (item->second.where == Where::claimed && item->second.losses > 0)
    remove_file(folder_.claim(key, item->second.server));
  move(item->second, Where::here);
  const auto askers = std::move(item->second.askers);
  items_.erase(item);
  taken_[key] += static_cast<int>(askers.size());
  for (const auto& [asker, id] : askers) asker->take(id, key, answer);
}

void SpoolSession::look_at_claims() {
  const auto begun = Clock::now();
  const auto before = std::exchange(claims_, {});
  std::unordered_set<std::string> busy;
  for (const auto& [key, server] : claims_in(folder_)) {
    if (right_.stopped(server)) {
      give_to_others(key, server);
      continue;
    }
    busy.insert(server);
    const auto known = before.find(key);
    const bool same = known != before.end() && known->second.first == server;
    claims_.insert_or_assign(key, std::pair(server, same ? known->second.second : begun));
  }
  for (auto& [key, item] : items_) {
    if (const auto claim = claims_.find(key); claim != claims_.end()) {
      std::tie(item.server, item.since) = claim->second;
      move(item, Where::claimed);
    } else if (item.where == Where::claimed) {
      move(item, Where::waiting);  // answered, or given back
    }
  }
  for (const std::string& server : right_.all_stopped())
    if (!busy.contains(server)) right_.forget(server);
  slots_ = right_.slots();
  const auto now = Clock::now();
  claims_due_ = now + std::max<Clock::duration>(std::min<Clock::duration>(kClaims, silence_ / 4),
                                                kPauseOfCost * (now - begun));
  answers_due_ = {};  // what was claimed a moment ago may be answered now
}

// Its server has stopped. That is not the query's fault, unless it happens again and again.
void SpoolSession::give_to_others(const std::string& key, const std::string& server) {
  const auto item = items_.find(key);
  if (item == items_.end() || take_answer(item)) {
    remove_file(folder_.claim(key, server));
    return;
  }
  if (++item->second.losses > kLossesMost) {
    remove_file(folder_.claim(key, server));
    Answer answer;
    answer.reason = fmt::format("{} servers stopped while they worked on it, the last was {}",
                                item->second.losses, server);
    answer.attempts = item->second.losses;
    deliver(item, answer);
    return;
  }
  if (move_file(folder_.claim(key, server), folder_.query(key))) move(item->second, Where::waiting);
}

// A query that is nowhere to be seen for long is put there again: who takes files away by mistake,
// or a file system that forgets, must not make us wait for ever.
void SpoolSession::look_for_lost() {
  const auto now = Clock::now();
  lost_due_ = now + silence_ / 2;
  folder_.keep_about();
  for (const auto& [id, problem] : problems_) put_problem(id);
  std::unordered_set<std::string> there;
  for (const std::string& name : names_in(folder_.folder("queries"), true))
    if (items_.contains(name))
      there.insert(name);
    else if (is_spool_key(name))
      remove_file(folder_.query(name));  // given back by a server after it was not wanted any more
  for (auto item = items_.begin(); item != items_.end(); ++item) {
    Item& content = item->second;
    if (content.where != Where::waiting) continue;
    if (there.contains(item->first))
      content.missing = {};
    else if (content.missing == Clock::time_point{})
      content.missing = now;
    else if (now - content.missing >= silence_)
      ask_again(item);
  }
}

void SpoolSession::ask_again(Items::iterator item) {
  move(item->second, Where::here);
  here_.push_front(item->first);
}

std::size_t SpoolSession::room() const {
  if (here_.empty()) return 0;
  const auto first = items_.find(here_.front());
  const std::size_t bytes =
      first != items_.end() ? 8 * std::max<std::size_t>(1, first->second.query.state.size()) : 8;
  const std::size_t most = std::clamp(kWaitingBytes / bytes, kWaitingLeast, kWaitingMost);
  return std::max(most, 2 * slots_);
}

void SpoolSession::put_queries() {
  for (std::size_t most = room(); waiting_ < most && !here_.empty();) {
    const std::string key = std::move(here_.front());
    here_.pop_front();
    const auto item = items_.find(key);
    if (item == items_.end() || item->second.where != Where::here) continue;
    if (item->second.held()) continue;
    if (const auto claim = claims_.find(key); claim != claims_.end()) {
      std::tie(item->second.server, item->second.since) = claim->second;
      move(item->second, Where::claimed);
      answers_due_ = {};
      continue;
    }
    if (answers_.erase(key) > 0 && take_answer(item)) continue;
    folder_.put(folder_.query(key), query_bytes(key, item->second.query), right_.name(), false);
    move(item->second, Where::waiting);
  }
}

void SpoolSession::withdraw() {
  if (!begun_) return;
  look_at_claims();  // what was given back just now is nobody's again
  for (auto& [key, item] : items_)
    if (item.held() && item.where == Where::waiting && remove_file(folder_.query(key)))
      move(item, Where::here);
}

void SpoolSession::leave(const SpoolAsker& asker, std::uint64_t id, const std::string& key,
                         bool for_good) {
  const auto item = items_.find(key);
  if (item == items_.end()) return;
  auto& askers = item->second.askers;
  std::erase_if(askers, [&](const auto& one) { return one.first == &asker && one.second == id; });
  if (!askers.empty()) return;
  if (item->second.where == Where::waiting) remove_file(folder_.query(key));
  if (item->second.where == Where::claimed && for_good)
    remove_file(folder_.claim(key, item->second.server));
  if (for_good) closed_.insert(hash_of(key));
  move(item->second, Where::here);
  items_.erase(item);
}

void SpoolSession::release(const std::string& key, bool stays) {
  const auto found = taken_.find(key);
  if (found == taken_.end() || --found->second > 0) return;
  taken_.erase(found);
  if (stays || items_.contains(key)) return;
  remove_file(folder_.answer(key));
  closed_.insert(hash_of(key));
}

std::optional<SpoolSession::Place> SpoolSession::place(const std::string& key) const {
  const auto item = items_.find(key);
  if (item == items_.end() || item->second.where != Where::claimed) return std::nullopt;
  return Place{item->second.server,
               std::chrono::duration<double>(Clock::now() - item->second.since).count()};
}

}  // namespace stap
