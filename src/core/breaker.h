// When failures of a solver are too many to go on.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "stap/core/solver.h"

namespace stap {

/// A query that a solver was asked in vain, and whose it was.
struct Failure {
  std::size_t owner = 0, candidate = 0, step = 0;
  std::string reason;
};

/// Sees the answers of one solver in the order in which they come; refusals are none. By its policy
/// the first failure is one too many, or the first three answers that all failed, or more than half
/// of the last 20.
class Breaker {
 public:
  explicit Breaker(const FailurePolicy& policy) : policy_(policy) {}

  void add_good();
  void add(Failure failure);
  /// Nothing more should be asked; it stays so.
  bool tripped() const { return !verdict_.empty(); }
  /// "11 of the last 20 answers failed"; empty unless tripped.
  const std::string& verdict() const { return verdict_; }
  /// Those that tripped it and all behind them, in the order in which they came.
  std::vector<Failure> failures() const;
  /// What failed so far stands: it goes on to be counted, but is not among failures() any more.
  void settle();
  /// Failures that tripped it and stand.
  std::size_t settled() const;

 private:
  struct Seen {
    bool failed;
    std::optional<Failure> failure;
  };
  void judge();

  FailurePolicy policy_;
  std::size_t answers_ = 0;
  std::deque<Seen> last_;  // once it has tripped: what tripped it, and failures behind
  std::string verdict_;
};

}  // namespace stap
