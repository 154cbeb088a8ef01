// A solver that refuses, fails or answers nonsense where it is told to, and a queue that answers
// out of order.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "stap/core/rng.h"
#include "stap/core/solver_queue.h"

namespace stap::test {

/// Value 0 of a state names its candidate and is handed on; the others become
/// u -> 0.75 u + time + 1/3, which no float holds. `fate` says what happens to (candidate, step).
class FakeSolver final : public Solver {
 public:
  enum class Fate { ok, refused, failed, not_finite, wrong_size };
  using Decide = std::function<Fate(std::size_t candidate, std::size_t step)>;

  FakeSolver(Grid grid, double dt, Decide fate)
      : Solver("fake", std::move(grid), dt), fate_(std::move(fate)) {}

  mutable std::size_t computed = 0;
  mutable std::size_t largest_batch = 0;

  static std::vector<double> next(std::span<const double> state, double time) {
    std::vector<double> result(state.begin(), state.end());
    for (std::size_t v = 1; v < result.size(); ++v) result[v] = 0.75 * state[v] + time + 1.0 / 3.0;
    return result;
  }

 private:
  Fate fate_of(const Query& query) const {
    return fate_(static_cast<std::size_t>(query.state[0]),
                 static_cast<std::size_t>(std::lround(query.time / dt())));
  }
  std::string guard(const Query& query) const override {
    return fate_of(query) == Fate::refused ? "told to refuse" : "";
  }
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    computed += queries.size();
    largest_batch = std::max(largest_batch, queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const Fate fate = fate_of(*queries[i]);
      Answer& answer = *answers[i];
      if (fate == Fate::failed) {
        answer.reason = "told to fail";
        continue;
      }
      answer.status = Answer::Status::ok;
      answer.state = next(queries[i]->state, queries[i]->time);
      answer.seconds = 0.5;
      if (fate == Fate::not_finite) answer.state[1] = std::numeric_limits<double>::quiet_NaN();
      if (fate == Fate::wrong_size) answer.state.pop_back();
    }
  }

  Decide fate_;
};

/// Answers any of the open queries next, and says at random whether it is ready.
class ShufflingQueue final : public SolverQueue {
 public:
  ShufflingQueue(const Solver& solver, const Rng& rng) : solver_(solver), rng_(rng) {}

  void submit(std::uint64_t id, std::vector<double> state, double time) override {
    open_.push_back({id, std::move(state), time});
  }
  std::size_t open() const override { return open_.size(); }
  bool ready() const override { return rng_.split("ready").uniform(draws_) < 0.5; }
  Reply next() override {
    const auto which = static_cast<long>(rng_.below(draws_++, open_.size()));
    const Open taken = open_.at(static_cast<std::size_t>(which));
    open_.erase(open_.begin() + which);
    const Query query{taken.id, taken.state, taken.time, {}};
    Reply reply{taken.id, {}};
    solver_.solve({&query, 1}, {&reply.answer, 1});
    return reply;
  }

 private:
  struct Open {
    std::uint64_t id;
    std::vector<double> state;
    double time;
  };
  const Solver& solver_;
  Rng rng_;
  std::uint64_t draws_ = 0;
  std::vector<Open> open_;
};

}  // namespace stap::test
