#pragma once

#include <cstddef>
#include <vector>

#include "stap/acquire/chooser.h"
#include "stap/acquire/selector.h"

namespace stap {

struct Purchase {
  std::size_t candidate = 0;  ///< id in the pool
  Pattern pattern;
  bool operator==(const Purchase&) const = default;
};

/// What a round will buy.
struct Plan {
  std::vector<Purchase> purchases;  ///< no candidate twice, no pattern empty
  std::size_t unspent = 0;          ///< of the budget, because the pool ran out
  std::size_t not_finite = 0;       ///< candidates a score could not judge

  std::size_t cost() const;
  bool operator==(const Plan&) const = default;
};

/// Wall-clock seconds of the two questions of a selection.
struct SelectionSeconds {
  double score = 0.0;   ///< which initial conditions: the selector
  double choose = 0.0;  ///< which steps of each: the chooser
};

/// One round's way along its selector's order: every plan goes on behind the plans before it, so
/// no candidate is chosen twice. What it is made of must outlive it.
class Spending {
 public:
  /// Throws Error(config) if a method needs more members than the committee has, or trajectories
  /// are longer than the chooser takes.
  Spending(const Selector& selector, const StepChooser& chooser, Committee& committee,
           const Candidates& candidates, const Rng& rng);

  /// Spends exactly `budget` solver steps: selector's order, chooser's patterns, the last one cut
  /// to its first steps that fit. Less only if the candidates run out (`unspent`). Throws
  /// Error(config) if the budget is 0.
  Plan next(std::size_t budget);
  /// Goes on behind a plan that next() made in an earlier process.
  void pass_over(const Plan& plan);
  /// Of the last next().
  const SelectionSeconds& seconds() const { return seconds_; }

 private:
  void order_at_least(std::size_t count);

  const Selector& selector_;
  const StepChooser& chooser_;
  Committee& committee_;
  Candidates candidates_;
  Rng rng_;
  Order order_;               // as far as it was asked for
  std::size_t asked_ = 0;     // how far that is
  std::vector<char> chosen_;  // per pool id
  std::size_t chosen_count_ = 0;
  SelectionSeconds seconds_;
};

/// A round of one plan.
Plan spend(std::size_t budget, const Selector& selector, const StepChooser& chooser,
           Committee& committee, const Candidates& candidates, const Rng& rng);

}  // namespace stap
