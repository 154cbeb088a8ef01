// How long answers of a solver take, and what that says about those that run.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace stap {

/// Seconds of the steps that were answered lately.
class AnswerTimes {
 public:
  /// An answer to so many steps.
  void add(double seconds, std::size_t steps);
  /// What a query of so many steps usually takes; empty while nothing was answered.
  std::optional<double> usual(std::size_t steps) const;
  /// Answers so far.
  std::size_t known() const { return known_; }

 private:
  std::deque<double> recent_;  // seconds of one step
  double median_ = 0.0;        // of them
  std::size_t known_ = 0;
};

/// Queries that run while nothing new is begun.
struct WindingDown {
  std::size_t running = 0;
  double seconds = 0.0;  ///< until the last of them has ended, if they take what is usual
  bool known = true;     ///< whether that can be told

  /// Another one, that has been running for so long.
  void add(std::optional<double> usual, double so_far);
  /// "no new query is begun; 3 are running, for about 2 min still".
  std::string text() const;
};

}  // namespace stap
