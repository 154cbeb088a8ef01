#include "stap/acquire/passes.h"

#include <iterator>
#include <unordered_set>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

Delivery buy_in_passes(std::size_t budget, OnUnstable on_unstable, const MakePlan& plan_of,
                       const BuyPlan& buy_plan) {
  Delivery round;
  Ledger& ledger = round.ledger;
  ledger.budget = ledger.unspent = budget;
  std::unordered_set<std::size_t> chosen;
  for (bool more = true; more;) {
    const std::size_t left = ledger.unspent, pass = ledger.passes + 1;
    const Plan plan = plan_of(pass, left);
    if (plan.cost() + plan.unspent != left)
      throw Error(ErrorKind::internal,
                  fmt::format("pass {} plans {} and leaves {} of {} solver steps", pass,
                              plan.cost(), plan.unspent, left));
    for (const Purchase& purchase : plan.purchases)
      if (!chosen.insert(purchase.candidate).second)
        throw Error(ErrorKind::internal,
                    fmt::format("pass {} chose candidate {}, which was chosen in this round before",
                                pass, purchase.candidate));
    Delivery delivery = buy_plan(plan, left);
    add_pass(ledger, delivery.ledger);
    require_balance(ledger);
    round.bought.insert(round.bought.end(), std::make_move_iterator(delivery.bought.begin()),
                        std::make_move_iterator(delivery.bought.end()));
    // A plan that leaves nothing has chosen somebody, and nobody twice: this ends.
    more = on_unstable == OnUnstable::refill && ledger.unspent > 0 && plan.unspent == 0;
  }
  return round;
}

}  // namespace stap
