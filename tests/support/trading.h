// Purchases without a run, and what they need besides a pool: members that keep a candidate's name,
// random trouble, and a place for records.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "stap/acquire/buyer.h"
#include "stap/acquire/passes.h"
#include "stap/core/hash64.h"
#include "support/fake_committee.h"
#include "support/fake_solver.h"

namespace stap::test {

/// Linear members that hand value 0, the candidate's name, on (see FakeSolver).
inline std::vector<FakeCommittee::Member> naming_members(std::size_t count, std::size_t values,
                                                         const Rng& rng) {
  std::vector<FakeCommittee::Member> members;
  for (const auto& member : linear_members(count, values, rng))
    members.push_back([member](const std::vector<float>& state, double time) {
      std::vector<float> next = member(state, time);
      next[0] = state[0];
      return next;
    });
  return members;
}

/// States that no float holds, value 0 their candidate's name.
inline States<double> named_pool(const Grid& grid, std::size_t count, const Rng& rng) {
  States<double> pool(grid, count);
  for (std::size_t c = 0; c < count; ++c) {
    pool.row(c)[0] = static_cast<double>(c);
    for (std::size_t v = 1; v < grid.values(); ++v)
      pool.row(c)[v] = rng.split("state", c).uniform(v) / 3.0;
  }
  return pool;
}

/// Any kind of trouble with probability `trouble`, decided by (candidate, step).
inline Decide random_fate(const Rng& rng, double trouble) {
  return [rng, trouble](std::size_t candidate, std::size_t step) {
    if (rng.split("candidate", candidate).uniform(step) >= trouble) return Fate::ok;
    constexpr Fate kinds[] = {Fate::refused, Fate::failed, Fate::not_finite, Fate::wrong_size};
    return kinds[rng.split("kind", candidate).below(step, 4)];
  };
}

/// What was written down before a purchase was cut off: the first `count` records.
inline Recorded recorded_in(const std::vector<AnswerRecord>& records, std::size_t count) {
  std::map<std::pair<std::size_t, std::size_t>, AnswerRecord> known;
  for (std::size_t k = 0; k < count; ++k)
    known[{records[k].candidate, records[k].step}] = records[k];
  return [known](std::size_t candidate, std::size_t step) -> std::optional<AnswerRecord> {
    const auto found = known.find({candidate, step});
    if (found == known.end()) return std::nullopt;
    return found->second;
  };
}

struct BuyHooks {
  Recorded recorded{};
  std::function<void(const AnswerRecord&)> record{};  ///< of every answer, before it is used
};

/// Buys a plan from a queue of its own; what is ready together is used together.
inline Delivery buy(const Plan& plan, std::size_t budget, StatesView<const double> pool,
                    const Solver& solver, Committee& committee, const BuyHooks& hooks = {},
                    const BuyRules& rules = {}) {
  Buyer buyer(plan, budget, pool, solver, committee, rules, hooks.recorded);
  const auto queue = solver.open();
  std::map<std::uint64_t, std::uint64_t> inputs;  // hashes, by query
  for (;;) {
    for (Query& query : buyer.ask()) {
      inputs[query.id] = hash64(std::as_bytes(std::span(query.state)));
      queue->submit(std::move(query));
    }
    if (buyer.done()) return buyer.deliver();
    do {
      const auto [id, answer] = wait_for_reply(*queue);
      std::vector<AnswerRecord> records =
          records_of(answer, buyer.first_of(id), inputs[id], pool.row_size);
      if (hooks.record)
        for (const AnswerRecord& record : records) hooks.record(record);
      buyer.take(id, std::move(records));
    } while (queue->open() > 0 && queue->ready());
  }
}

using MakePlan = std::function<Plan(std::size_t pass, std::size_t budget)>;
using BuyPlan = std::function<Delivery(const Plan& plan, std::size_t budget)>;

/// Spends a round's budget, pass after pass.
inline Delivery buy_in_passes(std::size_t budget, OnUnstable on_unstable, const MakePlan& plan_of,
                              const BuyPlan& buy_plan) {
  Passes passes(budget, on_unstable);
  while (passes.more()) {
    const std::size_t left = passes.budget();
    const Plan plan = plan_of(passes.pass(), left);
    passes.begin(plan);
    passes.end(buy_plan(plan, left));
  }
  return passes.deliver();
}

}  // namespace stap::test
