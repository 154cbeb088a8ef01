// Rows of a pool or a test set, made by the solver like a purchase: through its queue, and every
// answer is on disk before it is used.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/rng.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"
#include "stap/ic/sampler.h"
#include "stap/journal/answer_log.h"

namespace stap {

/// Which rows: initial conditions of one random stream, each followed by its trajectory.
struct RowsWanted {
  std::string phase;        ///< for progress and messages: "pool", "test set"
  std::size_t acquisition;  ///< under which answers are in the log
  Rng stream;               ///< of the initial conditions
  std::size_t rows = 0;
  std::size_t lead = 1;   ///< k: states up to time 0
  std::size_t steps = 0;  ///< learned steps behind them

  std::size_t times() const { return lead + steps; }
};

/// A row depends on nothing but its stream and index, not by a bit.
///
/// With a solver that has a breaker (FailurePolicy) a draw that fails or is refused does not sink
/// the rest: the next draw of the stream takes its place, so the rows are the first ones that do
/// not fail, whatever the order of answers. That it failed is in the log and stays so. There may be
/// a tenth of them, or three.
class RowMaker {
 public:
  /// `sampler` must live as long. Throws Error(config) if its warm-up is too short for `lead`
  /// states, or is one that the solver cannot make.
  RowMaker(const Sampler& sampler, std::shared_ptr<const Solver> solver, std::size_t lead);

  /// Returns when every answer is in the log; the observer is warned of draws that failed. Throws
  /// Stopped, with all that came so far in the log; Error(numerics) naming the row that cannot be
  /// computed; or, where the solver has a policy, Error(solver) if it fails more than that bears:
  /// failures do not count then, and a later call asks again.
  void make(const RowsWanted& wanted, AnswerLog& log, Observer& observer,
            const StopAsked& stop) const;

  /// Row `row` of what make() made, [times, C, X...]; `answers` are all of its acquisition. Throws
  /// Error(data) for an answer that was recorded for another state.
  std::vector<double> row(const RowsWanted& wanted, const LoggedAnswers& answers,
                          std::size_t row) const;

 private:
  // States of a row are numbered: 0 as drawn; if there is a warm-up, 1 behind it; then one a step.
  struct Leg {
    const Solver& solver;
    std::size_t begin, end;  // numbers of the states it leads from and to
    double time;             // of the first
    std::size_t zero;        // number of the state at time 0, for those behind the first

    double time_of(std::size_t number) const;
  };
  // A row under way, with the state it has.
  struct Trip {
    std::size_t index, number;
    std::vector<double> state;
  };
  // Number of the first state that belongs to the row.
  std::size_t first() const { return warm_up_ ? 1 : 0; }
  std::vector<double> drawn(const RowsWanted& wanted, std::size_t index) const;
  class Walk;  // of all rows through a leg
  // "initial condition 7 of the pool cannot be warmed up: ..."
  std::string trouble(const Leg& leg, const RowsWanted& wanted, const Trip& trip,
                      const Answer& answer) const;

  const Sampler& sampler_;
  std::shared_ptr<const Solver> solver_;
  std::unique_ptr<Solver> warm_up_;  // null: states are used as drawn
};

}  // namespace stap
