#pragma once

#include "stap/acquire/buyer.h"

namespace stap {

/// Where answers are written down and found again. Every function may be left out.
struct BuyHooks {
  Recorded recorded{};
  /// Every answer that came from the solver.
  std::function<void(const AnswerRecord&)> record{};
  /// Behind a group of records, before any of them is used.
  std::function<void()> commit{};
};

/// Buys a plan from one queue, that of `solver`, and waits for the answers: what is ready together
/// is recorded and committed together. The queue must have nothing open. Throws as Buyer does.
Delivery buy(const Plan& plan, std::size_t budget, StatesView<const double> initial,
             const Solver& solver, SolverQueue& queue, Committee& committee,
             const BuyHooks& hooks = {}, const BuyRules& rules = {});

}  // namespace stap
