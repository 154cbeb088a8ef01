#include "stap/acquire/passes.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "support/trading.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::FakeSolver;
using test::Fate;

const Grid kGrid = make_grid(1, {2}, {1.0});
constexpr std::size_t kBudget = 5;

// A round of 5 steps: candidate 0 for three and 1 for two, then 2 and 3 for up to three each, then
// the pool is empty. Trouble comes to candidate 0, step 1, and whatever else `fate` says.
struct Round {
  explicit Round(test::Decide fate)
      : pool(test::named_pool(kGrid, 4, Rng(1))),
        committee(kGrid, test::naming_members(2, 2, Rng(1))),
        solver(kGrid, 0.5, std::move(fate)) {}

  Ledger bought(OnUnstable on_unstable, bool charge_failed) {
    const BuyRules rules{.charge_failed = charge_failed};
    return test::buy_in_passes(
               kBudget, on_unstable,
               [&](std::size_t pass, std::size_t budget) {
                 budgets.push_back(budget);
                 if (pass == 1)
                   return Plan{{{0, Pattern::parse("111")}, {1, Pattern::parse("110")}}, 0, 0};
                 if (pass > 3) return Plan{{}, budget, 0};
                 const Pattern pattern = Pattern::parse("111").first(budget);
                 return Plan{{{pass, pattern}}, budget - pattern.cost(), 0};
               },
               [&](const Plan& plan, std::size_t budget) {
                 return test::buy(plan, budget, pool.view(), solver, committee, {}, rules);
               })
        .ledger;
  }

  States<double> pool;
  FakeCommittee committee;
  FakeSolver solver;
  std::vector<std::size_t> budgets;  // of the passes
};

test::Decide once(Fate trouble) {
  return [trouble](std::size_t candidate, std::size_t step) {
    return candidate == 0 && step == 1 ? trouble : Fate::ok;
  };
}

struct Expected {
  std::size_t bought, refused, failed, charged, unspent, passes;
};
void expect_ledger(const Ledger& ledger, const Expected& want) {
  EXPECT_EQ(ledger.budget, kBudget);
  EXPECT_EQ(ledger.bought, want.bought);
  EXPECT_EQ(ledger.refused, want.refused);
  EXPECT_EQ(ledger.refused_by_trust, 0u);
  EXPECT_EQ(ledger.failed, want.failed);
  EXPECT_EQ(ledger.charged_failures, want.charged);
  EXPECT_EQ(ledger.unspent, want.unspent);
  EXPECT_EQ(ledger.passes, want.passes);
  EXPECT_EQ(ledger.reasons.size(), want.refused + want.failed);
}

// Candidate 0 gives one step, 1 gives two. What is left: the steps 1 and 2 of candidate 0, less the
// failed one where it is charged.
TEST(Passes, EveryCombinationByHand) {
  constexpr auto drop = OnUnstable::drop, refill = OnUnstable::refill;
  const auto ledger = [](Fate trouble, OnUnstable on_unstable, bool charge) {
    return Round(once(trouble)).bought(on_unstable, charge);
  };

  for (const bool charge : {true, false}) {
    expect_ledger(ledger(Fate::ok, drop, charge), {5, 0, 0, 0, 0, 1});
    expect_ledger(ledger(Fate::ok, refill, charge), {5, 0, 0, 0, 0, 1});
    expect_ledger(ledger(Fate::refused, drop, charge), {3, 1, 0, 0, 2, 1});
    expect_ledger(ledger(Fate::refused, refill, charge), {5, 1, 0, 0, 0, 2});
  }
  for (const Fate failure : {Fate::failed, Fate::not_finite, Fate::wrong_size}) {
    expect_ledger(ledger(failure, drop, true), {3, 0, 1, 1, 1, 1});
    expect_ledger(ledger(failure, refill, true), {4, 0, 1, 1, 0, 2});
    expect_ledger(ledger(failure, drop, false), {3, 0, 1, 0, 2, 1});
    expect_ledger(ledger(failure, refill, false), {5, 0, 1, 0, 0, 2});
  }
}

TEST(Passes, APassSpendsWhatTheOneBeforeFreed) {
  // Candidate 0 loses steps 1 and 2, candidate 2 its second, candidate 3 is fine.
  Round round([](std::size_t candidate, std::size_t step) {
    return candidate % 2 == 0 && step == 1 ? Fate::refused : Fate::ok;
  });

  const Ledger ledger = round.bought(OnUnstable::refill, true);

  EXPECT_EQ(round.budgets, (std::vector<std::size_t>{5, 2, 1}));
  expect_ledger(ledger, {5, 2, 0, 0, 0, 3});
  EXPECT_FALSE(ledger.pool_exhausted);
}

TEST(Passes, AnExhaustedPoolEndsTheRound) {
  Round round([](std::size_t, std::size_t) { return Fate::refused; });

  const Ledger ledger = round.bought(OnUnstable::refill, true);

  // All of 0 and 1; three steps of 2 leave two unspent already: the pool ran out there.
  EXPECT_EQ(round.budgets, (std::vector<std::size_t>{5, 5}));
  expect_ledger(ledger, {0, 3, 0, 0, 5, 2});
  EXPECT_TRUE(ledger.pool_exhausted);
}

// Without this a selector that repeats itself could go on for ever.
TEST(Passes, NoCandidateTwiceAndEveryBudgetAccountedFor) {
  const auto round = [](const test::MakePlan& plan_of) {
    return [plan_of] {
      test::buy_in_passes(2, OnUnstable::refill, plan_of, [](const Plan& plan, std::size_t budget) {
        Delivery nothing;
        nothing.ledger.budget = nothing.ledger.unspent = budget;
        nothing.ledger.passes = 1;
        nothing.ledger.refused = plan.purchases.size();
        nothing.ledger.reasons.assign(plan.purchases.size(), "refused");
        return nothing;
      });
    };
  };
  const Pattern pattern = Pattern::parse("11");

  EXPECT_THROW(round([&](auto, auto) { return Plan{{{7, pattern}}, 0, 0}; })(), Error);
  EXPECT_THROW(round([&](auto, auto) { return Plan{{}, 0, 0}; })(), Error);
  EXPECT_THROW(round([&](auto, auto) { return Plan{{{7, pattern}}, 1, 0}; })(), Error);
}

}  // namespace
}  // namespace stap
