// A solver that does what a test says, as `stap solver` is given one to look at.
#pragma once

#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stap/core/solver_queue.h"
#include "stap/trial/solver_check.h"

namespace stap::test {

using State = std::vector<double>;

/// What a call is told, and which one it is.
struct Call {
  const Query& query;
  double dt;
  std::size_t slots;
  std::size_t number;  ///< 1, 2, ... of all variants together
};
/// The answer to a call; no status but ok, failed or none: none means that it never comes.
using Behaviour = std::function<std::optional<Answer>(const Call&)>;

inline Answer answered(State states, double seconds = 0.01) {
  return {.status = Answer::Status::ok,
          .reason = {},
          .states = std::move(states),
          .seconds = seconds,
          .attempts = 1};
}

inline Answer broken(const std::string& reason) {
  return {.status = Answer::Status::failed, .reason = reason, .states = {}, .attempts = 1};
}

/// u -> u exp(-dt), exactly a semigroup but for rounding.
inline State decayed(const State& state, double dt) {
  State next = state;
  for (double& v : next) v *= std::exp(-dt);
  return next;
}

inline std::optional<Answer> decays(const Call& call) {
  Answer answer = answered({});
  State state = call.query.state;
  for (std::size_t step = 0; step < call.query.steps; ++step) {
    state = decayed(state, call.dt);
    answer.states.insert(answer.states.end(), state.begin(), state.end());
  }
  return answer;
}

class ScriptedSolver final : public Solver {
 public:
  ScriptedSolver(Behaviour behaviour, const Grid& grid, std::vector<std::string> channels,
                 std::vector<std::string> varied, std::size_t& calls, double dt, std::size_t slots,
                 std::size_t at_once, double largest)
      : Solver("scripted", grid, dt, at_once),
        behaviour_(std::move(behaviour)),
        channels_(std::move(channels)),
        varied_(std::move(varied)),
        calls_(calls),
        slots_(slots),
        largest_(largest) {}
  std::vector<std::string> channels() const override {
    return channels_.empty() ? Solver::channels() : channels_;
  }

  std::vector<std::string> parameters() const override { return varied_; }

 private:
  class Queue final : public SolverQueue {
   public:
    explicit Queue(const ScriptedSolver& solver) : solver_(solver) {}
    void submit(Query query) override {
      const auto answer =
          solver_.behaviour_({query, solver_.dt(), solver_.slots_, ++solver_.calls_});
      ++open_;
      if (answer) replies_.push_back({query.id, *answer});
    }
    std::size_t open() const override { return open_; }
    std::optional<Reply> next(Clock::time_point) override {
      if (replies_.empty()) return std::nullopt;
      Reply reply = std::move(replies_.front());
      replies_.pop_front();
      --open_;
      return reply;
    }

   private:
    const ScriptedSolver& solver_;
    std::deque<Reply> replies_;
    std::size_t open_ = 0;
  };

  std::string guard(const Query& query) const override {
    for (const double v : query.state)
      if (std::abs(v) > largest_) return "too large";
    return {};
  }
  std::unique_ptr<SolverQueue> open_queue() const override {
    return std::make_unique<Queue>(*this);
  }

  Behaviour behaviour_;
  std::vector<std::string> channels_, varied_;
  std::size_t& calls_;
  std::size_t slots_;
  double largest_;
};

/// What is looked at; its members may be changed until it is asked.
struct ScriptedBench {
  explicit ScriptedBench(Behaviour chosen) : behaviour(std::move(chosen)) {
    asked.states = {{1.0, 2.0, -1.0, 0.5, 0.25, 3.0},
                    {0.5, 1.5, -0.5, 2.0, 1.0, 1.0},
                    {2.0, 1.0, 0.0, 0.5, 0.5, 0.5}};
    asked.make = [this](const SolverVariant& variant) {
      return std::make_unique<ScriptedSolver>(behaviour, grid, channels, varied, calls,
                                              0.5 * variant.dt_factor, variant.slots, at_once,
                                              largest);
    };
  }
  ScriptedBench(const ScriptedBench&) = delete;
  ScriptedBench& operator=(const ScriptedBench&) = delete;

  Behaviour behaviour;
  SolverToCheck asked;
  Grid grid = make_grid(1, {6}, {1.0});
  std::vector<std::string> channels{};  ///< none: the usual names
  std::vector<std::string> varied{};    ///< names of its parameters
  std::size_t calls = 0, at_once = 1;
  double largest = 1e9;
};

}  // namespace stap::test
