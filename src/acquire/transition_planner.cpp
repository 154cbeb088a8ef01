#include <algorithm>
#include <utility>

#include "acquire/transitions.h"
#include "acquire/until_spent.h"

namespace stap {
namespace {

class TransitionSpending final : public Spending {
 public:
  TransitionSpending(std::string method, const OrderTransitions& order, Committee& committee,
                     const Candidates& candidates, const Rng& rng)
      : Spending(std::move(method), candidates),
        make_order_(order),
        committee_(committee),
        rng_(rng) {}

 private:
  Plan make_plan(std::size_t budget, SelectionSeconds&) override {
    order_at_least(taken_count() + candidates().payable(budget));
    Plan plan;
    plan.not_finite = order_.not_finite;
    plan.unspent = budget;
    for (const Transition& t : order_.transitions) {
      if (plan.unspent <= candidates().warm_up) break;
      if (taken(t.id)) continue;
      plan.purchases.push_back({t.id, single_step(candidates().steps, t.step)});
      plan.unspent -= 1 + candidates().warm_up;
    }
    return plan;
  }

  // Orders only grow, so to ask again for more only adds.
  void order_at_least(std::size_t count) {
    const std::size_t open = candidates().open.size();
    count = std::min(count, open);
    if (asked_ > 0 && count <= asked_) return;
    asked_ = std::max(count, std::min(2 * asked_, open));
    order_ = make_order_(committee_, candidates(), asked_, rng_);
  }

  const OrderTransitions& make_order_;
  Committee& committee_;
  Rng rng_;
  TransitionOrder order_;  // as far as it was asked for
  std::size_t asked_ = 0;  // how far that is
};

class TransitionPlanner final : public Planner {
 public:
  TransitionPlanner(std::string name, int members_needed, OrderTransitions order)
      : name_(std::move(name)), members_needed_(members_needed), order_(std::move(order)) {}

  std::string name() const override { return name_; }
  int members_needed() const override { return members_needed_; }

 private:
  std::unique_ptr<Spending> start(Committee& committee, const Candidates& candidates,
                                  const Rng& rng) const override {
    return std::make_unique<TransitionSpending>(name_, order_, committee, candidates, rng);
  }

  std::string name_;
  int members_needed_;
  OrderTransitions order_;
};

}  // namespace

std::unique_ptr<Planner> make_transition_planner(std::string name, int members_needed,
                                                 OrderTransitions order) {
  return std::make_unique<TransitionPlanner>(std::move(name), members_needed, std::move(order));
}

}  // namespace stap
