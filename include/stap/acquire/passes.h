#pragma once

#include <cstddef>
#include <functional>

#include "stap/acquire/buyer.h"

namespace stap {

/// What becomes of steps that were planned but not made, because a query before them was refused
/// or failed: they stay unspent, or are spent on further candidates in the same round.
enum class OnUnstable { drop, refill };

/// Plans pass 1, 2, ... of a round for `budget` solver steps, among candidates that no pass before
/// has chosen.
using MakePlan = std::function<Plan(std::size_t pass, std::size_t budget)>;
/// Buys a plan; all walks have ended when it returns.
using BuyPlan = std::function<Delivery(const Plan& plan, std::size_t budget)>;

/// Spends a round's budget: one pass, and with `refill` further passes for what is left, until
/// nothing is left or the candidates run out. The ledger is that of all passes together, what was
/// bought comes pass by pass. Throws Error(internal) if the ledger does not add up, a plan does not
/// account for its budget, or chooses a candidate a second time (so the passes come to an end).
Delivery buy_in_passes(std::size_t budget, OnUnstable on_unstable, const MakePlan& plan_of,
                       const BuyPlan& buy_plan);

}  // namespace stap
