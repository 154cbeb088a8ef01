// Solvers that refuse, fail or answer nonsense where they are told to: one of this process, and one
// that is far away, whose queue answers late, out of order, and several steps a call.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "stap/core/rng.h"
#include "stap/core/solver_queue.h"

namespace stap::test {

/// What happens to a step. `not_finite` and `wrong_size` claim to be ok.
enum class Fate { ok, refused, failed, not_finite, wrong_size };
/// Decides about (candidate, step).
using Decide = std::function<Fate(std::size_t candidate, std::size_t step)>;
/// Decides about a state, where networks may have made it and it names no candidate.
using Judge = std::function<Fate(std::span<const double> state, double time)>;

inline Fate always_ok(std::size_t, std::size_t) {
  return Fate::ok;
}

/// The problem of the fakes: value 0 of a state names its candidate and is handed on; the others
/// become u -> 0.75 u + time + 1/3, which no float holds.
inline std::vector<double> fake_next(std::span<const double> state, double time) {
  std::vector<double> result(state.begin(), state.end());
  for (std::size_t v = 1; v < result.size(); ++v) result[v] = 0.75 * state[v] + time + 1.0 / 3.0;
  return result;
}

inline Judge by_name(Decide decide, double dt) {
  return [decide = std::move(decide), dt](std::span<const double> state, double time) {
    return decide(static_cast<std::size_t>(state[0]),
                  static_cast<std::size_t>(std::lround(time / dt)));
  };
}

/// Adds one step from `state` to an answer, half a second. False if that was its end.
inline bool add_fake_step(Fate fate, std::span<const double> state, double time, Answer& answer) {
  answer.seconds += 0.5;
  if (fate == Fate::failed) {
    answer.status = Answer::Status::failed;
    answer.reason = "told to fail";
    return false;
  }
  std::vector<double> next = fake_next(state, time);
  if (fate == Fate::not_finite) next[1] = std::numeric_limits<double>::quiet_NaN();
  if (fate == Fate::wrong_size) next.pop_back();
  answer.states.insert(answer.states.end(), next.begin(), next.end());
  answer.status = Answer::Status::ok;
  return fate != Fate::wrong_size;
}

/// In this process.
class FakeSolver final : public BatchSolver {
 public:
  FakeSolver(Grid grid, double dt, Decide decide = always_ok)
      : FakeSolver(std::move(grid), dt, by_name(std::move(decide), dt)) {}
  FakeSolver(Grid grid, double dt, Judge judge)
      : BatchSolver("fake", std::move(grid), dt), judge_(std::move(judge)) {}

  mutable std::size_t computed = 0;  ///< steps
  mutable std::size_t largest_batch = 0;
  std::vector<std::string> varied{};  ///< parameters that queries must have
  std::vector<std::string> parameters() const override { return varied; }

 private:
  Fate fate(const Query& query) const { return judge_(query.state, query.time); }
  std::string guard(const Query& query) const override {
    return fate(query) == Fate::refused ? "told to refuse" : "";
  }
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    computed += queries.size();
    largest_batch = std::max(largest_batch, queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i)
      add_fake_step(fate(*queries[i]), queries[i]->state, queries[i]->time, *answers[i]);
  }

  Judge judge_;
};

/// How a far solver behaves.
struct Manners {
  std::size_t steps_at_once = 1;  ///< a call
  std::optional<Rng> shuffle{};   ///< answers any of the open queries next; else the oldest
  std::size_t polls = 0;          ///< how often next() comes back empty before an answer
  std::size_t slots = 0;          ///< the oldest so many run by themselves; 0: none does
  bool expensive = false;
  double running = 0.0;  ///< seconds that a slot says it has been at work
  FailurePolicy policy{};
};

/// The same problem behind a queue of its own. In a call of several steps it does not ask the
/// guard, and goes on from what is not finite.
class FarSolver final : public Solver {
 public:
  FarSolver(Grid grid, double dt, Decide decide = always_ok, Manners manners = {})
      : FarSolver(std::move(grid), dt, by_name(std::move(decide), dt), std::move(manners)) {}
  FarSolver(Grid grid, double dt, Judge judge, Manners manners = {})
      : Solver("far", std::move(grid), dt, manners.steps_at_once),
        judge_(std::move(judge)),
        manners_(std::move(manners)) {}

  FailurePolicy failure_policy() const override { return manners_.policy; }
  bool expensive() const override { return manners_.expensive; }

  /// Sees what is open, whenever a reply is asked for.
  std::function<void(const std::vector<Query>&)> watch{};
  /// Which queries are never answered, though they run.
  std::function<bool(const Query&)> hangs{};
  /// Once there is a deadline, whether a query would be answered too late, and is not begun.
  std::function<bool()> too_late{};

  mutable std::size_t computed = 0;                           ///< steps
  mutable std::vector<std::size_t> calls;                     ///< steps of each
  mutable std::vector<std::uint64_t> answered;                ///< ids, in the order of the answers
  mutable std::vector<std::uint64_t> returned;                ///< ids that were given back
  mutable std::size_t opened = 0;                             ///< queues
  mutable std::optional<SolverQueue::Clock::time_point> end;  ///< that the last queue was told
  mutable double expected = 0.0;                              ///< seconds of a step, likewise

 private:
  class Queue final : public SolverQueue {
   public:
    explicit Queue(const FarSolver& solver) : solver_(solver) {}

    void submit(Query query) override {
      solver_.calls.push_back(query.steps);
      open_.push_back(std::move(query));
    }
    std::size_t open() const override { return open_.size(); }
    Outlook outlook() const override {
      if (late() || (held_ && begun_ == 0)) return Outlook::never;
      if (polled_ < solver_.manners_.polls || answerable().empty()) return Outlook::later;
      const std::optional<Rng>& rng = solver_.manners_.shuffle;
      return !rng || rng->split("ready").uniform(draws_) < 0.5 ? Outlook::ready : Outlook::later;
    }
    std::optional<Reply> next(Clock::time_point) override {
      if (solver_.watch) solver_.watch(open_);
      if (polled_++ < solver_.manners_.polls) return std::nullopt;
      polled_ = 0;
      const std::vector<std::size_t> all = answerable();
      if (all.empty()) return std::nullopt;
      const std::optional<Rng>& rng = solver_.manners_.shuffle;
      const std::size_t which = all[rng ? rng->below(draws_++, all.size()) : 0];
      const Query query = std::move(open_[which]);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
      if (which < begun_) --begun_;
      solver_.answered.push_back(query.id);
      return Reply{query.id, solver_.answer(query)};
    }
    bool give_back(std::uint64_t id) override {
      const auto found = std::ranges::find(open_, id, &Query::id);
      if (found == open_.end()) return false;
      if (static_cast<std::size_t>(found - open_.begin()) < begun_) --begun_;
      open_.erase(found);
      solver_.returned.push_back(id);
      return true;
    }
    void close(const Closing& closing) override {
      if (closing.hold) begin();
      held_ = held_ || closing.hold;
      if (!closing.by) return;
      ends_ = true;
      solver_.end = closing.by;
      if (closing.usual > 0) solver_.expected = closing.usual;
    }
    std::vector<Running> running() const override {
      std::vector<Running> all;
      if (late()) return all;
      const std::size_t now = held_ ? begun_ : std::min(solver_.manners_.slots, open_.size());
      for (std::size_t i = 0; i < now; ++i)
        all.push_back({open_[i].id, solver_.manners_.running, "slot of the fake"});
      return all;
    }

   private:
    bool late() const { return ends_ && solver_.too_late && solver_.too_late(); }
    void begin() {
      if (!held_) begun_ = std::min(solver_.manners_.slots, open_.size());
    }
    // Positions in open_: of those that run where there are slots, else of any.
    std::vector<std::size_t> answerable() const {
      const std::size_t most = held_                        ? begun_
                               : solver_.manners_.slots > 0 ? solver_.manners_.slots
                                                            : open_.size();
      std::vector<std::size_t> all;
      if (late()) return all;
      for (std::size_t i = 0; i < std::min(most, open_.size()); ++i)
        if (!solver_.hangs || !solver_.hangs(open_[i])) all.push_back(i);
      return all;
    }

    const FarSolver& solver_;
    std::vector<Query> open_;
    std::size_t begun_ = 0;  // of them, once it is held: these still run
    bool held_ = false, ends_ = false;
    std::uint64_t draws_ = 0;
    std::size_t polled_ = 0;
  };

  Answer answer(const Query& query) const {
    Answer answer;
    answer.attempts = 1;
    std::vector<double> state = query.state;
    for (std::size_t step = 0; step < query.steps; ++step) {
      const double time = query.time + static_cast<double>(step) * dt();
      ++computed;
      if (!add_fake_step(judge_(state, time), state, time, answer)) break;
      state.assign(answer.states.end() - static_cast<std::ptrdiff_t>(state.size()),
                   answer.states.end());
    }
    return answer;
  }
  std::string guard(const Query& query) const override {
    return judge_(query.state, query.time) == Fate::refused ? "told to refuse" : "";
  }
  std::unique_ptr<SolverQueue> open_queue() const override {
    ++opened;
    return std::make_unique<Queue>(*this);
  }

  Judge judge_;
  Manners manners_;
};

/// The next reply, however often the queue comes back without one.
inline Reply wait_for_reply(SolverQueue& queue) {
  for (;;)
    if (auto reply = queue.next(SolverQueue::Clock::now())) return *std::move(reply);
}

/// One answer.
inline Answer ask(const Solver& solver, Query query) {
  Answer answer;
  solver.solve({&query, 1}, {&answer, 1});
  return answer;
}

}  // namespace stap::test
