// The way of all rows of a pool or a test set through the solver's queue.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/breaker.h"
#include "stap/core/observer.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"
#include "stap/ic/sampler.h"
#include "stap/journal/answer_log.h"
#include "study/make_rows.h"

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

/// Draws that failed, of all legs together.
struct Tally {
  Tally(const RowsWanted& rows, const FailurePolicy& solvers, const LoggedAnswers& answers);

  /// Whether the place of a draw with this answer is another's; else it ends everything.
  bool bears(Answer::Status status) const {
    return policy.breaker || (policy.abort && status == Answer::Status::failed);
  }
  std::size_t most() const;
  bool too_many() const { return breaker.tripped() || ended.size() > most(); }
  /// The draws that are rows, or may be, are those before this one.
  std::size_t end() const { return wanted.rows + ended.size(); }
  std::string last_texts() const;

  static constexpr std::size_t kShare = 10, kAlways = 3, kShown = 3;

  const RowsWanted& wanted;
  FailurePolicy policy;
  Breaker breaker;
  std::set<std::size_t> ended;
  std::vector<std::string> texts;  ///< of those of this process
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
