// Laws of spending a budget, for random pools, budgets and any selector with any chooser of the
// tables. Each names the mutation that would break it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "stap/acquire/methods.h"
#include "stap/acquire/planner.h"
#include "support/acquiring.h"

#ifdef STAP_HAS_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace stap {
namespace {

#ifdef STAP_HAS_RAPIDCHECK

using test::spend;
using test::World;

// A random pool, some of it open, in any order, and what to choose from it with.
struct Round {
  World world;
  const SelectorRow* selector = nullptr;
  const ChooserRow* chooser = nullptr;
  std::size_t budget = 0;
  Rng rng{0};

  Plan plan() const { return plan_of(world, budget); }
  Plan plan_of(const World& other, std::size_t spent) const {
    return spend(spent, *selector->make({}, {}), *chooser->make({}, {}), *other.committee,
                 other.candidates(), rng);
  }
};

// Any row of a table, or any of these of it.
template <class Row>
const Row* any_of(const config::Registry<Row>& table, const std::set<std::string>& names = {}) {
  std::vector<const Row*> rows;
  for (const Row& row : table)
    if (names.empty() || names.count(row.name) > 0) rows.push_back(&row);
  return rows[*rc::gen::inRange<std::size_t>(0, rows.size())];
}

std::vector<std::size_t> shuffled(std::vector<std::size_t> ids) {
  std::vector<std::uint32_t> order;
  shuffle(Rng(*rc::gen::arbitrary<std::uint64_t>()), ids.size(), order);
  std::vector<std::size_t> result;
  for (const std::uint32_t k : order) result.push_back(ids[k]);
  return result;
}

World any_world() {
  const auto count = *rc::gen::inRange<std::size_t>(1, 14);
  World world = test::linear_world(
      *rc::gen::inRange<std::uint64_t>(0, 1000), *rc::gen::inRange<std::size_t>(2, 4),
      *rc::gen::inRange<std::size_t>(1, 7), count, *rc::gen::inRange<std::size_t>(1, 5));
  const auto closed = *rc::gen::inRange<std::size_t>(0, count);
  world.open = shuffled(world.open);
  world.open.resize(count - closed);
  std::sort(world.open.begin(), world.open.end());
  return world;
}

Round any_round() {
  World world = any_world();
  const auto budget = *rc::gen::inRange<std::size_t>(1, 60);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  return {std::move(world), any_of(selector_table()), any_of(chooser_table()), budget, Rng(seed)};
}

// Breaks if the last pattern is not cut, if it is cut though it fits, or if a candidate is given
// twice.
TEST(SpendLaws, TheBudgetIsSpentExactlyAndNoCandidateTwice) {
  EXPECT_TRUE(rc::check("budget", [] {
    const Round round = any_round();

    const Plan plan = round.plan();

    std::set<std::size_t> ids;
    for (const Purchase& purchase : plan.purchases) {
      RC_ASSERT(std::count(round.world.open.begin(), round.world.open.end(), purchase.candidate) ==
                1);
      RC_ASSERT(purchase.pattern.cost() > 0u);
      RC_ASSERT(ids.insert(purchase.candidate).second);
    }
    RC_ASSERT(plan.cost() + plan.unspent == round.budget);
    RC_ASSERT(plan.unspent == 0u || ids.size() == round.world.open.size());
  }));
}

// Breaks if `at_most` or the budget reaches a draw or a score.
TEST(SpendLaws, AsMoreIsAskedForTheOrderOnlyGrows) {
  EXPECT_TRUE(rc::check("prefix", [] {
    const Round round = any_round();
    const auto more = round.budget + *rc::gen::inRange<std::size_t>(1, 20);

    const Plan small = round.plan(), large = round.plan_of(round.world, more);

    RC_ASSERT(small.purchases.size() <= large.purchases.size());
    for (std::size_t k = 0; k < small.purchases.size(); ++k) {
      const Purchase &a = small.purchases[k], &b = large.purchases[k];
      RC_ASSERT(a.candidate == b.candidate);
      RC_ASSERT(a.pattern == b.pattern.first(a.pattern.cost()));
      if (k + 1 < small.purchases.size()) RC_ASSERT(a.pattern == b.pattern);
    }
  }));
}

// Breaks if anything is keyed by the position in `open`.
TEST(SpendLaws, TheOrderInWhichThePoolIsListedDoesNotMatter) {
  EXPECT_TRUE(rc::check("listing", [] {
    Round round = any_round();
    const Plan plan = round.plan();

    round.world.open = shuffled(round.world.open);

    RC_ASSERT(round.plan() == plan);
  }));
}

// Where nothing is drawn (draws belong to ids) the choice follows the states to their new places.
// Breaks if a score or a centre lands on a neighbour's id.
TEST(SpendLaws, PermutingThePoolPermutesTheChoice) {
  EXPECT_TRUE(rc::check("permutation", [] {
    Round round = any_round();
    round.selector = any_of(selector_table(), {"qbc", "lcmd", "core-set"});
    round.chooser = any_of(chooser_table(), {"full", "every", "exact", "first", "stap-one"});
    std::vector<std::size_t> places(round.world.pool.count());
    std::iota(places.begin(), places.end(), std::size_t{0});
    places = shuffled(places);
    World moved;
    moved.pool = States<float>(round.world.pool.grid(), places.size());
    moved.steps = round.world.steps;
    for (std::size_t id = 0; id < places.size(); ++id)
      std::copy(round.world.pool.row(id).begin(), round.world.pool.row(id).end(),
                moved.pool.row(places[id]).begin());
    for (const std::size_t id : round.world.open) moved.open.push_back(places[id]);
    std::sort(moved.open.begin(), moved.open.end());

    const Plan plan = round.plan();
    const Plan of_moved =
        spend(round.budget, *round.selector->make({}, {}), *round.chooser->make({}, {}),
              *round.world.committee, moved.candidates(), round.rng);

    RC_ASSERT(plan.purchases.size() == of_moved.purchases.size());
    for (std::size_t k = 0; k < plan.purchases.size(); ++k) {
      RC_ASSERT(places[plan.purchases[k].candidate] == of_moved.purchases[k].candidate);
      RC_ASSERT(plan.purchases[k].pattern == of_moved.purchases[k].pattern);
    }
  }));
}

#else

TEST(SpendLaws, NeedsRapidCheck) {
  GTEST_SKIP() << "librapidcheck-dev is not installed";
}

#endif

}  // namespace
}  // namespace stap
