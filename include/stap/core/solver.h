#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/core/fixed_fields.h"
#include "stap/core/grid.h"
#include "stap/core/query.h"

namespace stap {

/// What a purchase does about a solver that fails or is slow.
struct FailurePolicy {
  bool abort = false;    ///< the first failed query ends the run
  bool breaker = false;  ///< many failures (the first three, or over half of the last 20) end it
  /// Of a round's queries, the share of the slowest that may be given back and refunded; 0: none.
  double stragglers = 0.0;
};

class SolverQueue;

/// Something expensive that advances states by `dt`, in double precision: what it is. Cheap to
/// hold; what computes is started by open(). Rows are independent: an answer never depends, not by
/// a bit, on other queries, on their order or on threads.
class Solver {
 public:
  virtual ~Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  const std::string& name() const { return name_; }
  const Grid& grid() const { return grid_; }
  /// Length of one learned step, in the problem's time unit.
  double dt() const { return dt_; }
  /// Names of the grid's channels: u, or u0, u1, ... unless told otherwise.
  virtual std::vector<std::string> channels() const;
  /// Names of the parameters that vary: every query must have a value for each.
  virtual std::vector<std::string> parameters() const { return {}; }
  /// What all states have in common; null: nothing. Answers are 0 where there is no state.
  virtual SharedFixedFields fixed() const { return nullptr; }
  /// Those of this process fail for reasons of mathematics only, so they have none.
  virtual FailurePolicy failure_policy() const { return {}; }
  /// Whether a call is so expensive that two equal questions should be one.
  virtual bool expensive() const { return false; }
  /// The most steps of one query that are one call of the solver.
  std::size_t steps_at_once() const { return steps_at_once_; }

  /// Why the query must not be computed (a value that is not finite, the guard); empty: it may.
  /// Throws Error(data) if its state is not of the grid's size, or it does not have the parameters
  /// that vary.
  std::string refusal(const Query& query) const;
  /// The one way to ask. Whatever the solver, its queue refuses before it computes, takes queries
  /// of any number of steps, and never answers ok with a state that is broken (see
  /// src/core/checked_queue.h). The solver must outlive it.
  std::unique_ptr<SolverQueue> open() const;
  /// Asks queries[i] for answers[i], and waits: for tests and small programs. Ids do not matter.
  /// Throws as submit() of the queue does, Error(internal) if the spans differ in length, and
  /// Error(config) for a solver that is asked by hand.
  void solve(std::span<const Query> queries, std::span<Answer> answers) const;
  /// The same problem with another learned step, or null where there is none but this. Throws
  /// Error(config) for a step it cannot make.
  virtual std::unique_ptr<Solver> with_step(double dt) const;

 protected:
  /// Throws Error(config) unless dt is finite and above 0 and steps_at_once is at least 1.
  Solver(std::string name, Grid grid, double dt, std::size_t steps_at_once = 1);

 private:
  /// Why a query with a finite state must not be computed; empty if it may. Depends on nothing but
  /// the query: it may be asked at any time, any number of times.
  virtual std::string guard(const Query& query) const;
  /// Gets queries that were not refused, of 1 .. steps_at_once() steps; their ids differ.
  virtual std::unique_ptr<SolverQueue> open_queue() const = 0;

  std::string name_;
  Grid grid_;
  double dt_;
  std::size_t steps_at_once_;
};

/// A solver that is a function of this process and takes many rows in one call.
class BatchSolver : public Solver {
 protected:
  /// `threads`: that it computes on, 0 = all; its queue works on 8 rows a thread, or multiples.
  BatchSolver(std::string name, Grid grid, double dt, int threads = 1);
  int threads() const { return threads_; }

 private:
  class Queue;

  /// Makes one step of every query: fills status, reason, states [1, C, X...] and seconds. Answers
  /// come as failed, with one attempt.
  virtual void compute(std::span<const Query* const> queries,
                       std::span<Answer* const> answers) const = 0;
  std::unique_ptr<SolverQueue> open_queue() const final;

  int threads_;
};

}  // namespace stap
