#include "stap/acquire/passes.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

Passes::Passes(std::size_t budget, OnUnstable on_unstable) : on_unstable_(on_unstable) {
  round_.ledger.budget = round_.ledger.unspent = budget;
}

void Passes::begin(const Plan& plan) {
  if (plan.cost() + plan.unspent != budget())
    throw Error(ErrorKind::internal,
                fmt::format("pass {} plans {} and leaves {} of {} solver steps", pass(),
                            plan.cost(), plan.unspent, budget()));
  for (const Purchase& purchase : plan.purchases)
    if (!chosen_.insert(purchase.candidate).second)
      throw Error(ErrorKind::internal,
                  fmt::format("pass {} chose candidate {}, which was chosen in this round before",
                              pass(), purchase.candidate));
  plan_left_some_ = plan.unspent > 0;
}

void Passes::end(Delivery delivery) {
  Ledger& ledger = round_.ledger;
  add_pass(ledger, delivery.ledger);
  require_balance(ledger);
  round_.bought.insert(round_.bought.end(), std::make_move_iterator(delivery.bought.begin()),
                       std::make_move_iterator(delivery.bought.end()));
  // A plan that leaves nothing has chosen somebody, and nobody twice: this ends.
  more_ = on_unstable_ == OnUnstable::refill && ledger.unspent > 0 && !plan_left_some_;
}

}  // namespace stap
