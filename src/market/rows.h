// Rows of a pool or a test set.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/parameters.h"
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
  std::size_t lead = 1;                     ///< k: states up to time 0
  std::size_t steps = 0;                    ///< learned steps behind them
  std::vector<ParameterDraw> parameters{};  ///< that vary from row to row

  std::size_t times() const { return lead + steps; }
};

/// Draw `index`, before its warm-up, with the parameters of its warm-up and steps.
struct DrawnRow {
  std::vector<double> state, parameters;
};

/// Part of a row's way. Its states are numbered: 0 as drawn; if there is a warm-up, 1 after it;
/// then one per step.
struct Leg {
  const Solver* solver;
  bool warm_up;            ///< it leads to time 0, or to the first state of a cluster
  std::size_t begin, end;  ///< numbers of the states it leads from and to
  std::size_t steps;       ///< of the solver from each state to the next
  double time;             ///< of the first
  std::size_t zero;        ///< number of the state at time 0, for those after the first

  double time_of(std::size_t number) const {
    const double after = static_cast<double>(number) - static_cast<double>(zero);
    return number == begin ? time : after * solver->dt();
  }
};

/// A recorded state of a row. Throws Error(internal) if there is none.
AnswerRecord recorded_state(const RowsWanted& wanted, const LoggedAnswers& answers,
                            std::size_t index, std::size_t number);
DrawnRow draw_row(const Sampler& sampler, const RowsWanted& wanted, std::size_t index);
/// The same of a draw that is in the log: record 0 of an expensive sampler, whose state has the
/// parameters behind it where the sampler draws them.
DrawnRow recorded_row(const Sampler& sampler, const RowsWanted& wanted, std::size_t index,
                      std::vector<double> record);

/// A row depends on nothing but its stream and index, not by a bit. Answers are recorded by (index,
/// number of the state that was made).
///
/// With a solver that has a breaker (FailurePolicy) a draw that fails or is refused does not sink
/// the rest: the next draw of the stream takes its place, so the rows are the first ones that do
/// not fail, whatever the order of answers. That it failed is in the log and stays so. There may be
/// a tenth of them, or three. What an expensive sampler draws is in the log as well, as step 0.
class RowMaker {
 public:
  /// `sampler` must live as long. Throws Error(config) if its warm-up is too short for `lead`
  /// states, or is one that the solver cannot make.
  RowMaker(const Sampler& sampler, std::shared_ptr<const Solver> solver, std::size_t lead);

  /// Returns when every answer is in the log; the observer is warned of draws that failed. Throws
  /// as Market::serve does, Error(numerics) naming the row that cannot be computed where the solver
  /// has no policy, and Error(config) for a solver that answers by hand. After an Error(solver)
  /// failures do not count, and a later call asks again.
  void make(const RowsWanted& wanted, AnswerLog& log, Observer& observer,
            const StopAsked& stop) const;

  /// Row `row` of what make() made, [times, C, X...]; `answers` are all of its acquisition. Throws
  /// Error(data) for an answer that was recorded for another state.
  std::vector<double> row(const RowsWanted& wanted, const LoggedAnswers& answers,
                          std::size_t row) const;
  /// The parameters of all of them.
  RowParameters parameters(const RowsWanted& wanted, const LoggedAnswers& answers) const;

 private:
  DrawnRow drawn(const RowsWanted& wanted, const LoggedAnswers& answers, std::size_t index) const;
  std::vector<Leg> legs(const RowsWanted& wanted) const;
  // Number of the first state that belongs to the row.
  std::size_t first() const { return warm_up_ ? 1 : 0; }

  const Sampler& sampler_;
  std::shared_ptr<const Solver> solver_;
  std::unique_ptr<Solver> warm_up_;  // null: states are used as drawn
  std::size_t warm_up_steps_ = 0;    // of the solver
};

}  // namespace stap
