#include "stap/acquire/buyer.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "support/trading.h"

namespace stap {
namespace {

using test::always_ok;
using test::FakeCommittee;
using test::FakeSolver;
using test::Fate;

const Grid kGrid = make_grid(1, {2}, {1.0});

// One member that adds 1 to value 1: what the mean model did is visible.
FakeCommittee adding_committee() {
  return FakeCommittee(kGrid, {[](const std::vector<float>& u, double) {
                         return std::vector<float>{u[0], u[1] + 1.0f};
                       }});
}

struct Shop {
  explicit Shop(test::Decide fate) : pool(kGrid, 2), solver(kGrid, 0.5, std::move(fate)) {
    pool.row(1)[0] = 1.0;
    pool.row(0)[1] = pool.row(1)[1] = 0.1;
  }
  Delivery buy_all(const std::vector<Purchase>& purchases, std::size_t budget,
                   const test::BuyHooks& hooks = {}, const BuyRules& rules = {}) {
    return test::buy({purchases, 0, 0}, budget, pool.view(), solver, committee, hooks, rules);
  }

  States<double> pool;
  FakeCommittee committee = adding_committee();
  FakeSolver solver;
};

TEST(Buy, HandsTheDoubleStateOnBetweenBoughtSteps) {
  Shop shop(always_ok);

  const Delivery delivery = shop.buy_all({{0, Pattern::parse("11")}}, 2);

  // 0.75 u + time + 1/3 by hand, times 0 and 0.5.
  const double first = 0.75 * 0.1 + 1.0 / 3.0, second = 0.75 * first + 0.5 + 1.0 / 3.0;
  ASSERT_EQ(delivery.bought.size(), 2u);
  EXPECT_EQ(delivery.bought[0].input[1], 0.1);
  EXPECT_EQ(delivery.bought[0].output[1], first);
  EXPECT_EQ(delivery.bought[1].input[1], first);
  EXPECT_EQ(delivery.bought[1].output[1], second);
  EXPECT_EQ(shop.committee.advanced, 0u);
}

TEST(Buy, RoundsToFloatWhereTheMeanModelSteps) {
  Shop shop(always_ok);

  const Delivery delivery = shop.buy_all({{1, Pattern::parse("0010")}}, 1);

  ASSERT_EQ(delivery.bought.size(), 1u);
  EXPECT_EQ(delivery.bought[0].candidate, 1u);
  EXPECT_EQ(delivery.bought[0].step, 2u);
  EXPECT_EQ(delivery.bought[0].input[1], static_cast<double>(0.1f + 1.0f + 1.0f));
  EXPECT_EQ(shop.committee.advanced, 2u);  // none after the last bought step
}

TEST(Buy, BatchesQueriesAndMeanSteps) {
  Shop shop(always_ok);

  shop.buy_all({{0, Pattern::parse("101")}, {1, Pattern::parse("101")}}, 4);

  EXPECT_EQ(shop.solver.largest_batch, 2u);
  EXPECT_EQ(shop.committee.advance_calls, 1u);
  EXPECT_EQ(shop.committee.advanced, 2u);
}

TEST(Buy, SaysWhereTroubleWas) {
  Shop shop([](std::size_t candidate, std::size_t step) {
    if (step != 1) return Fate::ok;
    return candidate == 0 ? Fate::refused : Fate::not_finite;
  });

  const Ledger ledger =
      shop.buy_all({{1, Pattern::parse("111")}, {0, Pattern::parse("111")}}, 7).ledger;

  EXPECT_EQ(ledger.reasons,
            (std::vector<std::string>{"candidate 1, step 2: failed: answer value 1 is nan",
                                      "candidate 0, step 2: refused: told to refuse"}));
  EXPECT_EQ(ledger.bought, 2u);
  EXPECT_EQ(ledger.failed, 1u);
  EXPECT_EQ(ledger.refused, 1u);
  EXPECT_EQ(ledger.unspent, 4u);  // the plan's 1; candidate 1's last; candidate 0's last two
}

TEST(Buy, AFailedQueryIsFreeWhereItIsNotCharged) {
  Shop shop([](std::size_t, std::size_t step) { return step == 1 ? Fate::failed : Fate::ok; });

  const Ledger ledger =
      shop.buy_all({{0, Pattern::parse("111")}}, 3, {}, {.charge_failed = false}).ledger;

  EXPECT_EQ(ledger.bought, 1u);
  EXPECT_EQ(ledger.failed, 1u);
  EXPECT_EQ(ledger.charged_failures, 0u);
  EXPECT_EQ(ledger.unspent, 2u);  // the failed step and the one behind it
}

// Two members that make value 1 to 1 and to 1 + u0: after one step from any state of candidate 1
// their spread is (1/2)(0.5^2 + 0.5^2) = 0.25, of candidate 0 it is 0.
FakeCommittee disagreeing_committee() {
  return FakeCommittee(kGrid, {[](const std::vector<float>& u, double) {
                                 return std::vector<float>{u[0], 1.0f};
                               },
                               [](const std::vector<float>& u, double) {
                                 return std::vector<float>{u[0], 1.0f + u[0]};
                               }});
}

TEST(Buy, TheTrustBandRefusesStatesOfTheMeanModelOnly) {
  Shop shop(always_ok);
  shop.committee = disagreeing_committee();
  const BuyRules band{.trust_limit = 0.2};

  // Both start with a step of the solver; its answer is no matter of the band, whatever the spread.
  const Delivery delivery =
      shop.buy_all({{0, Pattern::parse("1101")}, {1, Pattern::parse("1101")}}, 6, {}, band);

  EXPECT_EQ(delivery.ledger.bought, 5u);
  EXPECT_EQ(delivery.ledger.refused, 1u);
  EXPECT_EQ(delivery.ledger.refused_by_trust, 1u);
  EXPECT_EQ(delivery.ledger.unspent, 1u);
  EXPECT_EQ(
      delivery.ledger.reasons,
      (std::vector<std::string>{"candidate 1, step 4: refused by the trust band: the members' "
                                "spread after one step is 0.25, above the limit of 0.2"}));
  EXPECT_EQ(shop.solver.computed, 5u);  // it never reached the solver
}

TEST(Buy, WhatIsAtTheLimitIsTrusted) {
  Shop shop(always_ok);
  shop.committee = disagreeing_committee();

  const Ledger ledger =
      shop.buy_all({{1, Pattern::parse("01")}}, 1, {}, {.trust_limit = 0.25}).ledger;

  EXPECT_EQ(ledger.bought, 1u);
}

TEST(Buy, StatesAreJudgedTogether) {
  Shop shop(always_ok);
  shop.committee = disagreeing_committee();

  shop.buy_all({{0, Pattern::parse("01")}, {1, Pattern::parse("01")}}, 2, {}, {.trust_limit = 9.0});

  EXPECT_EQ(shop.committee.advance_calls, 2u);  // the mean model's, the members'
  EXPECT_EQ(shop.committee.blocks_in_use(), 0u);
}

// It was asked and answered before the round was cut off; the band let it through.
TEST(Buy, ARecordedAnswerIsNotJudgedAgain) {
  Shop shop(always_ok);
  shop.committee = disagreeing_committee();
  test::BuyHooks hooks;
  hooks.recorded = [](std::size_t candidate, std::size_t step) {
    return AnswerRecord{candidate, step, Answer::Status::ok, "", {1.0, 5.0}};
  };

  const Delivery delivery =
      shop.buy_all({{1, Pattern::parse("01")}}, 1, hooks, {.trust_limit = 0.2});

  ASSERT_EQ(delivery.bought.size(), 1u);
  EXPECT_EQ(delivery.bought[0].output[1], 5.0);
}

TEST(Buy, ABandNeedsTwoMembers) {
  Shop shop(always_ok);

  EXPECT_THROW(shop.buy_all({{1, Pattern::parse("01")}}, 1, {}, {.trust_limit = 0.2}), Error);
}

TEST(Buy, WhatEndsInTheMiddleLeavesNoRows) {
  Shop shop(always_ok);
  test::BuyHooks hooks;
  hooks.record = [](const AnswerRecord&) { throw Error(ErrorKind::storage, "disk full"); };

  EXPECT_THROW(shop.buy_all({{0, Pattern::parse("11")}, {1, Pattern::parse("11")}}, 4, hooks),
               Error);
  EXPECT_EQ(shop.committee.blocks_in_use(), 0u);
}

TEST(Buy, RefusesAPlanAboveTheBudget) {
  Shop shop(always_ok);

  EXPECT_THROW(shop.buy_all({{0, Pattern::parse("11")}}, 1), Error);
}

TEST(Buy, NothingPlannedIsNothingSpent) {
  Shop shop(always_ok);

  const Delivery delivery = shop.buy_all({}, 5);

  EXPECT_TRUE(delivery.bought.empty());
  EXPECT_EQ(delivery.ledger.unspent, 5u);
}

}  // namespace
}  // namespace stap
