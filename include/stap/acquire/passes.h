#pragma once

#include <cstddef>
#include <unordered_set>

#include "stap/acquire/buyer.h"

namespace stap {

/// What becomes of steps that were planned but not made, because a query before them was refused
/// or failed: they stay unspent, or are spent on further candidates in the same round.
enum class OnUnstable { drop, refill };

/// A round's budget on its way through passes: one, and with `refill` further ones for what is
/// left, until nothing is left or the candidates run out. Each is begun with its plan and ended
/// with what its purchase delivered.
class Passes {
 public:
  Passes(std::size_t budget, OnUnstable on_unstable);

  /// Whether a further pass must be begun.
  bool more() const { return more_; }
  /// Of the pass that comes next: its number, from 1, and what it may spend.
  std::size_t pass() const { return round_.ledger.passes + 1; }
  std::size_t budget() const { return round_.ledger.unspent; }

  /// Throws Error(internal) if the plan does not account for budget(), or chooses a candidate that
  /// a pass before has chosen (so that the passes come to an end).
  void begin(const Plan& plan);
  /// Throws Error(internal) if the ledger does not add up.
  void end(Delivery delivery);

  /// The ledger is that of all passes together, what was bought comes pass by pass.
  Delivery deliver() { return std::move(round_); }

 private:
  OnUnstable on_unstable_;
  Delivery round_;
  std::unordered_set<std::size_t> chosen_;
  bool more_ = true, plan_left_some_ = false;
};

}  // namespace stap
