#include "stap/acquire/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "stap/acquire/methods.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::spend;
using test::World;

// Every method with every chooser, budgets from one step to more than the pool holds.
template <class Check>
void for_all_plans(const Check& check) {
  World world = test::linear_world(5, 2, 5, 30, 3);
  for (const SelectorRow& selector : selector_table())
    for (const ChooserRow& chooser : chooser_table())
      for (const std::size_t budget : {1, 2, 4, 5, 6, 23, 40, 97, 149, 150, 151, 1000})
        for (const std::size_t warm_up : {0, 4}) {
          world.warm_up = warm_up;
          check(world, *selector.make({}, {}), *chooser.make({}, {}), budget);
        }
}

// Breaks if the last pattern is not cut, or cut in the middle of the batch, or if a trajectory is
// begun that the rest of the budget pays the warm-up of and no step.
TEST(SpendProperty, SpendsExactlyAndNoCandidateTwice) {
  for_all_plans(
      [](World& world, const Selector& selector, const StepChooser& chooser, std::size_t budget) {
        const Plan plan =
            spend(budget, selector, chooser, *world.committee, world.candidates(), Rng(1));

        EXPECT_EQ(plan.cost() + plan.unspent, budget);
        EXPECT_EQ(plan.warm_up, world.warm_up);
        if (plan.unspent > world.warm_up) {
          EXPECT_EQ(plan.purchases.size(), world.open.size());
        }
        std::set<std::size_t> ids;
        for (const Purchase& p : plan.purchases) {
          ids.insert(p.candidate);
          EXPECT_GT(p.pattern.cost(), 0u);
          EXPECT_EQ(p.pattern.steps(), world.steps);
        }
        EXPECT_EQ(ids.size(), plan.purchases.size());
      });
}

// The plan is the selector's order with the chooser's patterns, whatever the chunks: breaks if a
// chunk is skipped or shifted against its patterns.
TEST(SpendProperty, FollowsTheOrderAndThePatterns) {
  for_all_plans(
      [](World& world, const Selector& selector, const StepChooser& chooser, std::size_t budget) {
        const auto order = selector.order(*world.committee, world.candidates(), 30, Rng(1)).ids;

        const Plan plan =
            spend(budget, selector, chooser, *world.committee, world.candidates(), Rng(1));

        for (std::size_t k = 0; k < plan.purchases.size(); ++k) {
          EXPECT_EQ(plan.purchases[k].candidate, order[k]);
          const Pattern chosen = test::patterns_of(chooser, *world.committee, world.candidates(),
                                                   {&order[k], 1}, Rng(1))[0];
          const Pattern& planned = plan.purchases[k].pattern;
          EXPECT_EQ(planned, chosen.first(planned.cost()));
          if (k + 1 < plan.purchases.size()) {
            EXPECT_EQ(planned, chosen);
          }
        }
      });
}

// A larger budget only adds. Breaks if the budget reaches a draw.
TEST(SpendProperty, ALargerBudgetStartsWithTheSamePurchases) {
  World world = test::linear_world(6, 2, 5, 30, 3);
  const auto sbal = make_sbal({});
  const auto stap = make_stap({});
  const Plan large = spend(60, *sbal, *stap, *world.committee, world.candidates(), Rng(3));
  for (std::size_t budget = 1; budget < 60; ++budget) {
    const Plan small = spend(budget, *sbal, *stap, *world.committee, world.candidates(), Rng(3));

    for (std::size_t k = 0; k + 1 < small.purchases.size(); ++k)
      EXPECT_EQ(small.purchases[k], large.purchases[k]);
    EXPECT_EQ(small.purchases.back().candidate,
              large.purchases[small.purchases.size() - 1].candidate);
  }
}

// Breaks if the chosen ids depend on how the pool is listed.
TEST(SpendProperty, PermutingThePoolPermutesNothing) {
  World world = test::linear_world(7, 2, 5, 30, 3);
  World reversed = test::linear_world(7, 2, 5, 30, 3);
  std::reverse(reversed.open.begin(), reversed.open.end());
  for (const SelectorRow& selector : selector_table())
    for (const ChooserRow& chooser : chooser_table()) {
      const auto made = selector.make({}, {});
      EXPECT_EQ(
          spend(37, *made, *chooser.make({}, {}), *world.committee, world.candidates(), Rng(3)),
          spend(37, *made, *chooser.make({}, {}), *reversed.committee, reversed.candidates(),
                Rng(3)));
    }
}

// A twin of the pool in another order, the ids renamed, is another pool: only the noise-free method
// must choose the same states. Breaks if scores land on a neighbour's id.
TEST(SpendProperty, QbcFollowsTheStatesWhenTheyMove) {
  World world = test::linear_world(8, 2, 5, 30, 3), moved = test::linear_world(8, 2, 5, 30, 3);
  for (std::size_t id = 0; id < 30; ++id)
    for (std::size_t v = 0; v < 3; ++v) moved.pool.row((id + 11) % 30)[v] = world.pool.row(id)[v];

  const Plan plan =
      spend(40, *make_qbc(), *make_full(), *world.committee, world.candidates(), Rng(3));
  const Plan of_moved =
      spend(40, *make_qbc(), *make_full(), *moved.committee, moved.candidates(), Rng(3));

  ASSERT_EQ(plan.purchases.size(), of_moved.purchases.size());
  for (std::size_t k = 0; k < plan.purchases.size(); ++k)
    EXPECT_EQ((plan.purchases[k].candidate + 11) % 30, of_moved.purchases[k].candidate);
}

}  // namespace
}  // namespace stap
