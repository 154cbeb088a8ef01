#include "stap/acquire/plan.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

// Candidates whose patterns are asked for at a time: enough to fill the committee's batches, few
// enough that not many are chosen in vain. The first ones also tell what a pattern costs.
constexpr std::size_t kMost = 128;
std::size_t first_at_a_time(const Committee& committee) {
  return (committee.rows_at_once() + 3) / 4;
}
std::size_t fewest_at_a_time(const Committee& committee) {
  return (committee.rows_at_once() + 15) / 16;
}

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
  std::vector<std::size_t> left_over;
  for (std::size_t id : order_.ids)
    if (!chosen_[id]) left_over.push_back(id);
  const std::span<const std::size_t> ids = left_over;
  Plan plan;
  plan.not_finite = order_.not_finite;
  std::size_t left = budget;
  for (std::size_t next = 0; left > 0 && next < ids.size();) {
    // As many as are left to buy if the next ones cost what those before did, at first all steps.
    const std::size_t spent = plan.purchases.empty() ? candidates_.steps : budget - left;
    const std::size_t bought = std::max<std::size_t>(1, plan.purchases.size());
    const std::size_t likely = (left * bought + spent - 1) / spent;
    const std::size_t fewest =
        next == 0 ? first_at_a_time(committee_) : fewest_at_a_time(committee_);
    const std::size_t most = std::min(left, ids.size() - next);
    const auto chunk = ids.subspan(next, std::min(std::max(fewest, std::min(likely, kMost)), most));
    const std::vector<Pattern> patterns = timed(
        seconds_.choose, [&] { return chooser_.choose(committee_, candidates_, chunk, rng_); });
    for (std::size_t c = 0; c < chunk.size() && left > 0; ++c) {
      Pattern pattern = patterns[c].first(left);
      if (pattern.cost() == 0)
        throw Error(ErrorKind::internal,
                    fmt::format("{} chose no step of candidate {}", chooser_.name(), chunk[c]));
      left -= pattern.cost();
      plan.purchases.push_back({chunk[c], std::move(pattern)});
    }
    next += chunk.size();
  }
  plan.unspent = left;
  pass_over(plan);
  return plan;
}

Plan spend(std::size_t budget, const Selector& selector, const StepChooser& chooser,
           Committee& committee, const Candidates& candidates, const Rng& rng) {
  return Spending(selector, chooser, committee, candidates, rng).next(budget);
}

}  // namespace stap
