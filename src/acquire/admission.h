#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "stap/core/pattern.h"

namespace stap {

/// A pattern and its utility per step bought.
struct Found {
  Pattern pattern;
  double value = 0.0;
};

/// Which of a row of candidates to search for their patterns, so that the first of them cost a
/// budget together. Nobody knows beforehand how many that takes; each costs 1 .. L steps and the
/// warm-up.
/// Candidates are numbers 0, 1, ... Several threads may ask at the same time.
class Admission {
 public:
  /// `first` candidates (of `count`) are let in before anyone knows what a pattern costs, or more
  /// if more are needed for sure; later `spare` beyond what is likely.
  Admission(std::size_t count, std::size_t budget, std::size_t steps, std::size_t warm_up,
            std::size_t first, std::size_t spare);

  /// How many to let in before anything is known.
  std::size_t first() const { return first_; }
  /// The next candidates that are likely to be needed, from a number on; at most `most`.
  struct Some {
    std::size_t from = 0, count = 0;
  };
  Some let_in(std::size_t most);
  /// Steps of what stands of a candidate that is far along; it tells what a pattern may cost.
  void far_along(std::size_t candidate, std::size_t cost);
  void finished(std::size_t candidate, Found found);
  /// Candidates from this number on will not be needed; it falls, and never rises again.
  std::size_t needed_at_most() const;
  /// Of all that are needed, when nobody is let in any more and all are finished.
  std::vector<Found> found();

 private:
  struct State {
    std::optional<std::size_t> cost;  // with its warm-up; known once it is far along
    bool finished = false;
    Found found{};
  };

  std::size_t most() const;
  std::size_t likely_more() const;

  std::size_t count_, budget_, steps_, warm_up_, first_, spare_;
  std::vector<State> states_;  // of those let in
  mutable std::mutex mutex_;
};

}  // namespace stap
