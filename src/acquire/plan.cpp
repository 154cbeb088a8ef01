#include "stap/acquire/plan.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

void require_members(std::string_view method, int needed, int members, std::string_view instead) {
  if (members >= needed) return;
  throw Error(ErrorKind::config,
              fmt::format("{} needs a committee of at least {} members, this one has {}: train "
                          "more members, or choose {} instead",
                          method, needed, members, instead));
}

void require_steps(const StepChooser& chooser, std::size_t steps) {
  if (steps <= chooser.steps_most()) return;
  throw Error(ErrorKind::config,
              fmt::format("{} takes trajectories of at most {} steps, these have {}: choose stap "
                          "instead, or fewer steps",
                          chooser.name(), chooser.steps_most(), steps));
}

// Does the work and adds the time it took.
template <class Work>
auto timed(double& seconds, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

std::size_t Plan::cost() const {
  std::size_t cost = 0;
  for (const Purchase& purchase : purchases) cost += purchase.pattern.cost();
  return cost;
}

Spending::Spending(const Selector& selector, const StepChooser& chooser, Committee& committee,
                   const Candidates& candidates, const Rng& rng)
    : selector_(selector),
      chooser_(chooser),
      committee_(committee),
      candidates_(candidates),
      rng_(rng),
      chosen_(candidates.states.count, 0) {
  if (candidates.steps == 0)
    throw Error(ErrorKind::config, "trajectories have 0 steps, expected at least 1: raise steps");
  require_members(selector.name(), selector.members_needed(), committee.members(), "random");
  require_members(chooser.name(), chooser.members_needed(), committee.members(), "full");
  require_steps(chooser, candidates.steps);
}

void Spending::pass_over(const Plan& plan) {
  for (const Purchase& purchase : plan.purchases) chosen_.at(purchase.candidate) = 1;
  chosen_count_ += plan.purchases.size();
}

// Orders are prefix-stable, so to ask again for more only adds.
void Spending::order_at_least(std::size_t count) {
  count = std::min(count, candidates_.open.size());
  if (asked_ > 0 && count <= asked_) return;
  asked_ = std::max(count, std::min(2 * asked_, candidates_.open.size()));
  order_ =
      timed(seconds_.score, [&] { return selector_.order(committee_, candidates_, asked_, rng_); });
}

Plan Spending::next(std::size_t budget) {
  if (budget == 0)
    throw Error(ErrorKind::config,
                "the budget of a round is 0 solver steps, expected at least 1: raise the budget");
  seconds_ = {};
  // Every candidate costs at least one step, so no more than `budget` are ever needed.
  order_at_least(chosen_count_ + budget);
  std::vector<std::size_t> ids;
  for (const std::size_t id : order_.ids)
    if (!chosen_[id]) ids.push_back(id);
  const std::vector<Pattern> patterns = timed(
      seconds_.choose, [&] { return chooser_.choose(committee_, candidates_, ids, budget, rng_); });
  Plan plan;
  plan.not_finite = order_.not_finite;
  std::size_t left = budget;
  for (std::size_t k = 0; k < patterns.size() && left > 0; ++k) {
    Pattern pattern = patterns[k].first(left);
    if (pattern.cost() == 0)
      throw Error(ErrorKind::internal,
                  fmt::format("{} chose no step of candidate {}", chooser_.name(), ids[k]));
    left -= pattern.cost();
    plan.purchases.push_back({ids[k], std::move(pattern)});
  }
  if (left > 0 && patterns.size() < ids.size())
    throw Error(ErrorKind::internal,
                fmt::format("{} chose steps of {} candidates for {} of {} solver steps, with {} "
                            "candidates to choose from",
                            chooser_.name(), patterns.size(), budget - left, budget, ids.size()));
  plan.unspent = left;
  pass_over(plan);
  return plan;
}

Plan spend(std::size_t budget, const Selector& selector, const StepChooser& chooser,
           Committee& committee, const Candidates& candidates, const Rng& rng) {
  return Spending(selector, chooser, committee, candidates, rng).next(budget);
}

}  // namespace stap
