#include "stap/acquire/planner.h"

#include <chrono>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

RoundPlans::RoundPlans(std::string method, const Candidates& candidates)
    : method_(std::move(method)),
      candidates_(candidates),
      fates_(candidates.states.count, Fate::closed) {
  for (const std::size_t id : candidates.open) fates_.at(id) = Fate::open;
}

Plan RoundPlans::next(std::size_t budget) {
  if (budget == 0)
    throw Error(ErrorKind::config,
                "the budget per round is 0 solver steps, expected at least 1: raise the budget");
  seconds_ = {};
  const auto start = std::chrono::steady_clock::now();
  Plan plan;
  if (budget > candidates_.warm_up)
    plan = make_plan(budget, seconds_);
  else
    plan.unspent = budget;  // it pays for nobody's first step
  plan.warm_up = candidates_.warm_up;
  if (seconds_.score == 0.0 && seconds_.choose == 0.0)
    seconds_.score =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  check(plan, budget);
  pass_over(plan);
  return plan;
}

void RoundPlans::check(const Plan& plan, std::size_t budget) const {
  const auto broken = [&](const std::string& what) {
    return Error(ErrorKind::internal, fmt::format("{} {}", method_, what));
  };
  std::vector<Fate> fates = fates_;
  for (const Purchase& purchase : plan.purchases) {
    const std::size_t id = purchase.candidate;
    if (id >= fates.size() || fates[id] != Fate::open)
      throw broken(fmt::format("chose candidate {}, which {}", id,
                               id >= fates.size()          ? "is not in the pool"
                               : fates[id] == Fate::closed ? "is not open"
                                                           : "it chose before"));
    fates[id] = Fate::taken;
    if (purchase.pattern.steps() != candidates_.steps)
      throw broken(fmt::format("chose {} steps of candidate {}, expected a pattern of {}",
                               purchase.pattern.text(), id, candidates_.steps));
    if (purchase.pattern.cost() == 0)
      throw broken(fmt::format("chose no step of candidate {}", id));
  }
  if (plan.cost() + plan.unspent != budget)
    throw broken(fmt::format("planned {} solver steps and left {}, of a budget of {}", plan.cost(),
                             plan.unspent, budget));
}

void RoundPlans::pass_over(const Plan& plan) {
  for (const Purchase& purchase : plan.purchases) fates_.at(purchase.candidate) = Fate::taken;
  taken_count_ += plan.purchases.size();
}

std::unique_ptr<RoundPlans> Planner::begin(Committee& committee, const Candidates& candidates,
                                           const Rng& rng) const {
  if (candidates.steps == 0)
    throw Error(ErrorKind::config, "trajectories have 0 steps, expected at least 1: raise steps");
  if (committee.members() < members_needed())
    throw Error(ErrorKind::config,
                fmt::format("{} needs a committee of at least {} members, this one has {}: train "
                            "more members, or choose random instead",
                            name(), members_needed(), committee.members()));
  if (candidates.steps > steps_most())
    throw Error(ErrorKind::config,
                fmt::format("{} takes trajectories of at most {} steps, these have {}: choose stap "
                            "instead, or fewer steps",
                            name(), steps_most(), candidates.steps));
  return start(committee, candidates, rng);
}

}  // namespace stap
