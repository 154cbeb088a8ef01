// How long queries take, may take, and whether there is time for another.
#pragma once

#include <string>

#include "core/answer_times.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/solver_options.h"

namespace stap {

/// Times of a queue's queries. Usual is the median of what was answered here; before that, what is
/// expected.
class QueryTimes {
 public:
  using Clock = SolverQueue::Clock;

  /// `grace`: seconds that it may take to end a query.
  QueryTimes(SolverLimits limits, double grace) : limits_(limits), grace_(grace) {}

  void add(double seconds, std::size_t steps) { times_.add(seconds, steps); }

  /// Takes over what is usual, and when all must be over. What runs is given back before: by the
  /// grace and two seconds, but at most half of the time there is.
  void close(const Closing& closing);
  Clock::time_point back_by() const { return back_by_; }
  /// Whether a query that begins now would be answered before that.
  bool in_time(const Query& query) const;

  /// Seconds that a query of so many steps may take; 0: any.
  double limit(std::size_t steps) const;
  /// Why a query is ended that has taken too long.
  std::string verdict(double taken) const;

 private:
  SolverLimits limits_;
  double grace_;
  AnswerTimes times_;
  double expected_ = 0.0;
  Clock::time_point back_by_ = Clock::time_point::max();
};

/// Of any number of seconds.
SolverQueue::Clock::duration ticks(double seconds);

/// Seconds that it takes to tidy up, beside the grace.
inline constexpr double kTidyUp = 2.0;

}  // namespace stap
