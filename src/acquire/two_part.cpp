#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "stap/acquire/planner.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// Does the work and adds the time it took.
template <class Work>
auto timed(double& seconds, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

class TwoPartPlans final : public RoundPlans {
 public:
  TwoPartPlans(std::string method, const Selector& selector, const StepChooser& chooser,
               Committee& committee, const Candidates& candidates, const Rng& rng)
      : RoundPlans(std::move(method), candidates),
        selector_(selector),
        chooser_(chooser),
        committee_(committee),
        rng_(rng) {}

 private:
  Plan make_plan(std::size_t budget, SelectionSeconds& seconds) override {
    order_at_least(taken_count() + candidates().payable(budget), seconds.score);
    std::vector<std::size_t> ids;
    for (const std::size_t id : order_.ids)
      if (!taken(id)) ids.push_back(id);
    const std::vector<Pattern> patterns = timed(seconds.choose, [&] {
      return chooser_.choose(committee_, candidates(), ids, budget, rng_);
    });
    Plan plan;
    plan.not_finite = order_.not_finite;
    std::size_t left = budget;
    const std::size_t warm_up = candidates().warm_up;
    for (std::size_t k = 0; k < patterns.size() && left > warm_up; ++k) {
      plan.purchases.push_back({ids[k], patterns[k].first(left - warm_up)});
      left -= candidates().cost(plan.purchases.back().pattern);
    }
    if (left > warm_up && patterns.size() < ids.size())
      throw Error(ErrorKind::internal,
                  fmt::format("{} chose steps of {} candidates for {} of {} solver steps, with {} "
                              "candidates to choose from",
                              chooser_.name(), patterns.size(), budget - left, budget, ids.size()));
    plan.unspent = left;
    return plan;
  }

  // Orders are prefix-stable, so to ask again for more only adds.
  void order_at_least(std::size_t count, double& seconds) {
    const std::size_t open = candidates().open.size();
    count = std::min(count, open);
    if (asked_ > 0 && count <= asked_) return;
    asked_ = std::max(count, std::min(2 * asked_, open));
    order_ =
        timed(seconds, [&] { return selector_.order(committee_, candidates(), asked_, rng_); });
  }

  const Selector& selector_;
  const StepChooser& chooser_;
  Committee& committee_;
  Rng rng_;
  Order order_;            // as far as it was asked for
  std::size_t asked_ = 0;  // how far that is
};

class TwoPartPlanner final : public Planner {
 public:
  TwoPartPlanner(std::shared_ptr<const Selector> selector,
                 std::shared_ptr<const StepChooser> chooser)
      : selector_(std::move(selector)), chooser_(std::move(chooser)) {}

  std::string name() const override {
    return chooser_->name() == "full" ? std::string(selector_->name())
                                      : fmt::format("{}+{}", selector_->name(), chooser_->name());
  }
  int members_needed() const override {
    return std::max(selector_->members_needed(), chooser_->members_needed());
  }
  std::size_t steps_most() const override { return chooser_->steps_most(); }

 private:
  std::unique_ptr<RoundPlans> start(Committee& committee, const Candidates& candidates,
                                    const Rng& rng) const override {
    return std::make_unique<TwoPartPlans>(name(), *selector_, *chooser_, committee, candidates,
                                          rng);
  }

  std::shared_ptr<const Selector> selector_;
  std::shared_ptr<const StepChooser> chooser_;
};

}  // namespace

std::unique_ptr<Planner> make_two_part_planner(std::shared_ptr<const Selector> selector,
                                               std::shared_ptr<const StepChooser> chooser) {
  return std::make_unique<TwoPartPlanner>(std::move(selector), std::move(chooser));
}

}  // namespace stap
