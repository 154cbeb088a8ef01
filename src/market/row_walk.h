// The way of all rows of a pool or a test set through the solver's queue.
#pragma once

#include <cstddef>
#include <vector>

#include "market/make_rows.h"
#include "market/tally.h"
#include "stap/core/observer.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"
#include "stap/ic/sampler.h"
#include "stap/journal/answer_log.h"

namespace stap {

/// States of a row are numbered: 0 as drawn; if there is a warm-up, 1 behind it; then one a step.
/// A leg leads from one of them to another.
struct Leg {
  const Solver& solver;
  bool warm_up;            ///< it leads to time 0, or to the first state of a cluster
  std::size_t begin, end;  ///< numbers of the states it leads from and to
  double time;             ///< of the first
  std::size_t zero;        ///< number of the state at time 0, for those behind the first

  double time_of(std::size_t number) const;
};

/// State 0 of a row: from the log, where a sampler is dear, or drawn.
std::vector<double> drawn(const Sampler& sampler, const RowsWanted& wanted,
                          const LoggedAnswers& answers, std::size_t index);
/// The answer that led to state `number` of row `index`. Throws Error(internal) if there is none.
LoggedAnswer recorded(const RowsWanted& wanted, const LoggedAnswers& answers, std::size_t index,
                      std::size_t number);

/// Takes all rows from the leg's first state to its last, as many at a time as memory allows.
/// Throws as RowMaker::make does.
void walk_rows(const Sampler& sampler, const Leg& leg, Tally& tally, AnswerLog& log,
               Progress& progress, Observer& observer, const StopAsked& stop);

}  // namespace stap
