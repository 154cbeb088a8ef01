// Rows of a pool or a test set, made by the solver like a purchase: through its queue, and every
// answer is on disk before it is used.
#pragma once

#include <cstddef>
#include <memory>
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
/// a tenth of them, or three. What a dear sampler draws is in the log as well, as step 0.
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
  // Number of the first state that belongs to the row.
  std::size_t first() const { return warm_up_ ? 1 : 0; }
  void draw_all(const RowsWanted& wanted, std::size_t end, AnswerLog& log, Observer& observer,
                const StopAsked& stop) const;

  const Sampler& sampler_;
  std::shared_ptr<const Solver> solver_;
  std::unique_ptr<Solver> warm_up_;  // null: states are used as drawn
};

}  // namespace stap
