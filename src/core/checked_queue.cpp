#include "core/checked_queue.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/queue_around.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// What is wrong with the states of an answer to `steps` steps, in the words of the state it is
// about, and how many states stand before it. No words: nothing.
struct Flaw {
  std::size_t before = 0;
  std::string text;
};
Flaw flaw_of(std::span<const double> states, std::size_t steps, std::size_t values) {
  Flaw flaw{std::min(states.size() / values, steps), {}};
  if (states.size() != steps * values) {
    if (flaw.before == steps) --flaw.before;  // the last one is too long
    flaw.text = fmt::format("the answer has {} values, expected {}",
                            states.size() - flaw.before * values, values);
  }
  if (const std::size_t bad = first_not_finite(states.first(flaw.before * values));
      bad < flaw.before * values)
    flaw = {bad / values, fmt::format("answer value {} is {}", bad % values, states[bad])};
  return flaw;
}

// An answer to `steps` steps with nothing in it but whole, finite states.
void keep_sound(Answer& answer, std::size_t steps, std::size_t values) {
  const Flaw flaw = flaw_of(answer.states, steps, values);
  if (answer.status == Answer::Status::ok && flaw.text.empty()) return answer.reason.clear();
  if (answer.status == Answer::Status::ok) {
    answer.reason = flaw.text;
    answer.status = Answer::Status::failed;
  }
  if (answer.reason.empty()) answer.reason = "no reason was given";
  answer.states.resize(std::min(flaw.before, steps - 1) * values);
}

class CheckedQueue final : public QueueAround {
 public:
  CheckedQueue(const Solver& solver, std::unique_ptr<SolverQueue> inner)
      : QueueAround(std::move(inner)),
        solver_(solver),
        values_(solver.grid().values()),
        fixed_(solver.fixed()) {}

  void submit(Query query) override {
    const std::uint64_t id = query.id;
    if (query.steps == 0)
      throw Error(ErrorKind::internal, fmt::format("query {} is for 0 steps", id));
    if (open_.count(id) > 0)
      throw Error(ErrorKind::internal, fmt::format("query {} was submitted while it is open", id));
    std::string reason = solver_.refusal(query);
    if (!reason.empty()) {
      open_.emplace(id, Open{});
      refused_.push_back({id, {Answer::Status::refused, std::move(reason)}});
      return;
    }
    std::vector<double> state = std::exchange(query.state, {});
    send(open_.emplace(id, Open{std::move(query), {}, false}).first->second, std::move(state));
  }

  std::size_t open() const override { return open_.size(); }
  // Where a query is not asked to its end yet, what is ready inside may be but a part of it.
  Outlook outlook() const override {
    if (!refused_.empty()) return Outlook::ready;
    return cut_ > 0 && inner().ready() ? Outlook::later : inner().outlook();
  }

  std::optional<Reply> next(Clock::time_point until) override {
    if (open_.empty())
      throw Error(ErrorKind::internal, "a reply was asked for, but no query is open");
    if (!refused_.empty()) {
      Reply reply = std::move(refused_.front());
      refused_.pop_front();
      open_.erase(reply.id);
      return reply;
    }
    do {
      std::optional<Reply> part = inner().next(until);
      if (!part) return std::nullopt;
      const auto found = open_.find(part->id);
      if (found == open_.end())
        throw Error(ErrorKind::internal, fmt::format("{}: a reply to query {}, which is not open",
                                                     solver_.name(), part->id));
      if (take(found->second, std::move(part->answer))) {
        Reply reply{found->first, std::move(found->second.answer)};
        open_.erase(found);
        return reply;
      }
    } while (inner().ready() || Clock::now() < until);
    return std::nullopt;
  }

  bool give_back(std::uint64_t id) override {
    const auto found = open_.find(id);
    if (found == open_.end()) return false;
    if (std::erase_if(refused_, [&](const Reply& reply) { return reply.id == id; }) == 0) {
      if (!inner().give_back(id)) return false;
      cut_ -= found->second.cut ? 1 : 0;
    }
    open_.erase(found);
    return true;
  }

  // A query that is asked in parts has been running since its first.
  std::vector<Running> running() const override {
    std::vector<Running> all = inner().running();
    for (Running& one : all)
      if (const auto found = open_.find(one.id); found != open_.end())
        one.seconds += found->second.answer.seconds;
    return all;
  }

 private:
  struct Open {
    Query query;       // without its state
    Answer answer;     // of the steps before those that are asked for
    bool cut = false;  // whether some are not asked for yet
  };

  std::size_t made(const Open& open) const { return open.answer.states.size() / values_; }
  std::size_t asked(const Open& open) const {
    return std::min(solver_.steps_at_once(), open.query.steps - made(open));
  }

  // The query for what is left behind `steps` steps, from `state`.
  Query rest(const Open& open, std::size_t steps, std::vector<double> state) const {
    return {.id = open.query.id,
            .state = std::move(state),
            .time = open.query.time + static_cast<double>(steps) * solver_.dt(),
            .params = open.query.params,
            .steps = open.query.steps - steps};
  }

  void send(Open& open, std::vector<double> state) {
    Query query = rest(open, made(open), std::move(state));
    query.steps = asked(open);
    query.steps_after = open.query.steps - made(open) - query.steps;
    open.cut = made(open) + query.steps < open.query.steps;
    cut_ += open.cut ? 1 : 0;
    inner().submit(std::move(query));
  }

  // Adds an answer to what was asked for; true if that is all.
  bool take(Open& open, Answer part) {
    cut_ -= open.cut ? 1 : 0;
    const std::size_t before = made(open), steps = open.query.steps;
    clear_masked(fixed_.get(), part.states);
    keep_sound(part, asked(open), values_);
    Answer& whole = open.answer;
    whole.seconds += part.seconds;
    whole.attempts += part.attempts;
    whole.states.insert(whole.states.end(), part.states.begin(), part.states.end());
    std::vector<double> state;
    for (std::size_t step = before + 1; step <= std::min(made(open), steps - 1); ++step) {
      const auto from = whole.states.begin() + static_cast<std::ptrdiff_t>((step - 1) * values_);
      Query next = rest(open, step, {from, from + static_cast<std::ptrdiff_t>(values_)});
      if (const std::string reason = solver_.refusal(next); !reason.empty()) {
        whole.states.resize(step * values_);
        whole.status = Answer::Status::refused;
        whole.reason = reason;
        return true;
      }
      state = std::move(next.state);
    }
    if (part.status == Answer::Status::ok) {
      whole.status = Answer::Status::ok;
      if (made(open) == steps) return true;
      send(open, std::move(state));
      return false;
    }
    whole.status = part.status;
    whole.reason = std::move(part.reason);
    return true;
  }

  const Solver& solver_;
  std::size_t values_;
  SharedFixedFields fixed_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::deque<Reply> refused_;
  std::size_t cut_ = 0;  // open queries of which some steps are not asked for yet
};

}  // namespace

std::size_t first_not_finite(std::span<const double> values) {
  std::size_t i = 0;
  while (i < values.size() && std::isfinite(values[i])) ++i;
  return i;
}

std::unique_ptr<SolverQueue> make_checked_queue(const Solver& solver,
                                                std::unique_ptr<SolverQueue> inner) {
  return std::make_unique<CheckedQueue>(solver, std::move(inner));
}

}  // namespace stap
