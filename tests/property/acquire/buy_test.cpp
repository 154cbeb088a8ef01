#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "stap/core/error.h"
#include "support/acquiring.h"
#include "support/trading.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::FakeSolver;
using test::FarSolver;
using test::Fate;

constexpr std::size_t kValues = 3, kSteps = 6, kPool = 12;
constexpr double kDt = 0.25;  // sums of times are exact
const Grid kGrid = make_grid(1, {kValues}, {1.0});

// A pool whose states no float holds, a random plan and random trouble.
struct Market {
  explicit Market(std::uint64_t seed, double trouble = 0.15)
      : pool(test::named_pool(kGrid, kPool, Rng(seed))),
        committee(kGrid, test::naming_members(2, kValues, Rng(1)), kSteps),
        fate(test::random_fate(Rng(seed).split("fate"), trouble)),
        solver(kGrid, kDt, fate) {
    const Rng rng(seed);
    std::vector<std::uint32_t> order;
    shuffle(rng, kPool, order);
    for (std::size_t k = 0; k < 7; ++k) {
      const Pattern pattern = test::random_pattern(kSteps, rng.split("pattern", k));
      if (pattern.cost() > 0) plan.purchases.push_back({order[k], pattern});
    }
    plan.unspent = seed % 3;
    budget = plan.cost() + plan.unspent;
  }

  Delivery bought(const Solver& from, const test::BuyHooks& hooks = {}) {
    return test::buy(plan, budget, std::as_const(pool).view(), from, committee, hooks);
  }
  Delivery bought(const test::BuyHooks& hooks = {}) { return bought(solver, hooks); }

  States<double> pool;
  FakeCommittee committee;
  test::Decide fate;
  FakeSolver solver;
  Plan plan;
  std::size_t budget = 0;
};

// The same by nested loops, one trajectory after the other, straight from the spec.
Delivery expected(const Market& market) {
  Delivery result;
  result.ledger.budget = market.budget;
  std::size_t asked = 0;
  for (const auto& [candidate, pattern] : market.plan.purchases) {
    const auto u0 = market.pool.row(candidate);
    std::vector<double> state(u0.begin(), u0.end());
    for (std::size_t step = 0; step < pattern.end(); ++step) {
      if (!pattern[step]) {
        const std::vector<float> rounded(state.begin(), state.end());
        const auto next = market.committee.apply(
            kMean, rounded, static_cast<double>(step) / static_cast<double>(kSteps));
        state.assign(next.begin(), next.end());
        continue;
      }
      const Fate fate = market.fate(candidate, step);
      if (fate == Fate::refused) ++result.ledger.refused;
      if (fate == Fate::refused) break;
      ++asked;
      if (fate != Fate::ok) ++result.ledger.failed;
      if (fate != Fate::ok) break;
      ++result.ledger.bought;
      const auto next = test::fake_next(state, static_cast<double>(step) * kDt);
      result.bought.push_back({candidate, step, state, next, 0.5});
      state = next;
    }
  }
  result.ledger.unspent = market.budget - asked;
  return result;
}

void expect_equal(const std::vector<Bought>& got, const std::vector<Bought>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    EXPECT_EQ(got[k].candidate, want[k].candidate) << k;
    EXPECT_EQ(got[k].step, want[k].step) << k;
    EXPECT_EQ(got[k].input, want[k].input) << k;
    EXPECT_EQ(got[k].output, want[k].output) << k;
    EXPECT_EQ(got[k].seconds, want[k].seconds) << k;
  }
}
void expect_equal(const Ledger& got, const Ledger& want) {
  EXPECT_EQ(got.budget, want.budget);
  EXPECT_EQ(got.bought, want.bought);
  EXPECT_EQ(got.refused, want.refused);
  EXPECT_EQ(got.failed, want.failed);
  EXPECT_EQ(got.unspent, want.unspent);
}

// Breaks if a state is rounded between two bought steps, a time is one step off, the walk goes on
// after trouble, a refused query is charged, or results come in the order of the replies.
TEST(BuyProperty, DeliversWhatNestedLoopsDeliver) {
  std::size_t refused = 0, failed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Market market(seed), twin(seed);

    const Delivery delivery = market.bought();

    const Delivery want = expected(twin);
    expect_equal(delivery.bought, want.bought);
    expect_equal(delivery.ledger, want.ledger);
    EXPECT_EQ(delivery.ledger.reasons.size(), want.ledger.refused + want.ledger.failed);
    EXPECT_EQ(market.committee.blocks_in_use(), 0u);
    refused += want.ledger.refused;
    failed += want.ledger.failed;
  }
  EXPECT_GT(refused, 10u);  // the trouble did happen
  EXPECT_GT(failed, 10u);
}

// Breaks if a later step of a stopped trajectory, or what the plan left, is forgotten.
TEST(BuyProperty, TheLedgerAddsUp) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Market market(seed, 0.4);

    const Ledger ledger = market.bought().ledger;

    EXPECT_EQ(ledger.bought + ledger.failed + ledger.unspent, market.budget);
    EXPECT_GE(ledger.unspent, market.plan.unspent + ledger.refused);
    EXPECT_EQ(market.solver.computed, ledger.bought + ledger.failed);
  }
}

// Breaks if anything is kept by the order in which replies come, if a state in the middle of a call
// is taken for its end, if what stands before a failure is lost, or if a refusal within a call is
// charged as a failure.
TEST(BuyProperty, OrderOfRepliesAndStepsOfACallDoNotMatter) {
  std::size_t several = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Market in_order(seed, 0.1);
    const Delivery want = in_order.bought();
    for (const std::size_t at_once : {1u, 2u, 3u, 6u})
      for (std::uint64_t order = 0; order < 3; ++order) {
        Market market(seed, 0.1);
        const FarSolver solver(kGrid, kDt, market.fate,
                               {.steps_at_once = at_once,
                                .shuffle = Rng(order),
                                .polls = static_cast<std::size_t>(order)});

        Delivery delivery = market.bought(solver);

        // A call does not say how long each of its steps took.
        if (at_once > 1)
          for (Bought& bought : delivery.bought) bought.seconds = 0.5;
        expect_equal(delivery.bought, want.bought);
        EXPECT_EQ(delivery.ledger, want.ledger);
        several += static_cast<std::size_t>(
            std::ranges::count_if(solver.calls, [](std::size_t steps) { return steps > 1; }));
      }
  }
  EXPECT_GT(several, 100u);
}

// However many answers were recorded before a stop, going on gives the same and asks only for the
// rest; also when a stop came between the steps of one call. Breaks if a recorded answer is asked
// for again, or recorded a second time.
TEST(BuyProperty, RecordedAnswersAreUsedInsteadOfTheSolver) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t at_once = 1 + seed % 3;
    Market first(seed);
    const FarSolver solver(kGrid, kDt, first.fate,
                           {.steps_at_once = at_once, .shuffle = Rng(seed)});
    std::vector<AnswerRecord> journal;
    test::BuyHooks recording;
    recording.record = [&](const AnswerRecord& record) { journal.push_back(record); };
    const Delivery want = first.bought(solver, recording);
    ASSERT_EQ(journal.size(), want.ledger.bought + want.ledger.failed + want.ledger.refused);

    for (std::size_t kept = 0; kept <= journal.size(); kept += 2) {
      Market again(seed);
      std::vector<AnswerRecord> fresh;
      test::BuyHooks hooks;
      hooks.recorded = test::recorded_in(journal, kept);
      hooks.record = [&](const AnswerRecord& record) { fresh.push_back(record); };

      Delivery delivery = again.bought(solver, hooks);

      for (std::size_t k = 0; at_once > 1 && k < delivery.bought.size(); ++k)
        delivery.bought[k].seconds = want.bought.at(k).seconds;
      expect_equal(delivery.bought, want.bought);
      EXPECT_EQ(delivery.ledger, want.ledger);
      EXPECT_EQ(fresh.size(), journal.size() - kept);
      for (const AnswerRecord& record : fresh)
        EXPECT_FALSE(hooks.recorded(record.candidate, record.step));
    }
  }
}

}  // namespace
}  // namespace stap
