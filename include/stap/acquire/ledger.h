#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stap {

/// Where a budget of solver steps went. Always:
/// bought + warm_up + charged_failures + unspent == budget.
struct Ledger {
  std::size_t budget = 0;   ///< solver steps that could be spent
  std::size_t bought = 0;   ///< transitions stored
  std::size_t warm_up = 0;  ///< charged for the trajectories chosen, before their first step
  std::size_t refused = 0;  ///< queries that were never made: never charged
  std::size_t refused_by_trust = 0;  ///< of these, by the trust band; the others by the guard
  std::size_t failed = 0;            ///< queries that the solver was asked in vain
  std::size_t charged_failures = 0;  ///< of these, those that cost a step
  std::size_t unspent = 0;           ///< steps of the budget that nobody asked for
  std::size_t passes = 0;            ///< plans that were bought one after the other
  bool pool_exhausted = false;       ///< there were fewer candidates than the budget could pay
  /// Of refusals and failures, in the order of the plans: "candidate 7, step 3: failed: ...", where
  /// the first step is 1.
  std::vector<std::string> reasons;

  bool operator==(const Ledger&) const = default;
};

/// Throws Error(internal), with all numbers, if the ledger does not add up.
void require_balance(const Ledger& ledger);

/// Adds a pass that spent what `round` had left. Throws Error(internal) if the pass had another
/// budget than that.
void add_pass(Ledger& round, const Ledger& pass);

/// "3 queries refused (1 by the trust band), 1 failed, 4 of 9 solver steps stay unspent": what a
/// user should know; empty if the whole budget was bought without trouble.
std::string trouble_text(const Ledger& ledger);

}  // namespace stap
