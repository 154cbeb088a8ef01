#pragma once

#include <cstddef>
#include <string>

#include "stap/core/pattern.h"

namespace stap {

/// One trajectory on its way through a pattern: what must advance the current state next, and how
/// it ended. Pure logic; whoever drives it holds the state. The walk ends after the last bought
/// step, or at the first query that is refused or fails.
class Walk {
 public:
  enum class Next { solver, mean_model, nothing };
  enum class End { none, finished, refused, failed };

  explicit Walk(Pattern pattern);

  Next next() const;
  /// The step the next question is about, 0 .. L-1.
  std::size_t step() const { return step_; }
  const Pattern& pattern() const { return pattern_; }

  /// The solver or the mean model has answered: the state is one step further.
  void advance();
  /// The guard refused the query before it was made: not charged.
  void refuse(std::string reason);
  /// The solver was called and failed.
  void fail(std::string reason);

  End end() const { return end_; }
  const std::string& reason() const { return reason_; }
  /// Solver steps stored so far.
  std::size_t bought() const { return bought_; }
  /// Solver steps that were planned but will never be made (the failed one not counted).
  std::size_t unspent() const;

 private:
  void stop(End end, std::string reason);

  Pattern pattern_;
  std::size_t step_ = 0;
  std::size_t bought_ = 0;
  End end_ = End::none;
  std::string reason_;
};

}  // namespace stap
