// Methods that buy single steps, against slow twins.
#include "acquire/single_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stap/acquire/methods.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::World;
using Ids = std::vector<std::size_t>;
using Search = StapOneOptions::Search;

// Step and value, bit for bit, however many rows are advanced at once. Breaks if a step starts from
// a's state, a pair's target is b, the bound leaves out later steps, a tie goes to the earlier
// step, or a mixed rollout overwrites another's.
TEST(StapOneProperty, IsTheBestSingleStepOfTheTwin) {
  for (World& world : test::some_worlds(5)) {
    auto* fake = dynamic_cast<FakeCommittee*>(world.committee.get());
    for (const std::size_t at_once : {1, 40, 4000}) {
      if (fake != nullptr) fake->at_once = at_once;

      const auto best =
          best_single_steps(*world.committee, world.candidates(), world.open, Search::exact);

      for (const std::size_t id : world.open) {
        const auto expected = reference::best_single(world.models(), world.steps, world.state(id));
        EXPECT_EQ(best[id].utility, expected.value);
        EXPECT_EQ(best[id].step + 1, expected.pattern.end());
      }
    }
  }
}

// Steps, utilities and states advanced, whoever else is asked about. Breaks if a step goes on that
// is not the most promising one, the part that later steps add is left out of the estimate, the
// distances to b are those to a, or how many rows are advanced at once decides.
TEST(StapOneProperty, QuicklyItIsTheTwinsStep) {
  std::size_t other = 0, all = 0;
  std::vector<World> worlds = test::some_worlds(8);
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    worlds.push_back(test::linear_world(seed, 2 + seed % 2, 9, 7));
  for (World& world : worlds) {
    auto* fake = dynamic_cast<FakeCommittee*>(world.committee.get());
    for (const std::size_t at_once : {1, 4000}) {
      if (fake != nullptr) fake->at_once = at_once, fake->advanced = 0;

      const auto found =
          best_single_steps(*world.committee, world.candidates(), world.open, Search::quick);

      const std::size_t advanced = fake != nullptr ? fake->advanced : 0;
      const auto models = world.models();
      const std::size_t pairs = models.size() * (models.size() - 1);
      std::size_t states = 0;
      for (const std::size_t id : world.open) {
        const auto twin = reference::likely_best(models, world.steps, world.state(id));
        EXPECT_EQ(found[id].step, twin.step) << id;
        EXPECT_EQ(found[id].utility, twin.value) << id;
        states += models.size() * world.steps + pairs * twin.looked_at;
        const auto best = reference::best_single(models, world.steps, world.state(id));
        EXPECT_LE(found[id].utility, best.value);
        other += found[id].step + 1 != best.pattern.end() ? 1 : 0;
        ++all;
      }
      if (fake != nullptr) {
        EXPECT_EQ(advanced, states);
      }
    }
  }
  EXPECT_GT(other, 0u);  // or these worlds would not tell it from the exact search
  EXPECT_LT(other, all / 2);
}

// Breaks if states that are not finite get into estimates of others, or nothing is found.
TEST(StapOneProperty, QuicklyStatesThatAreNotFiniteHarmNobody) {
  World world = test::linear_world(3, 2, 6, 3);
  const auto whole =
      best_single_steps(*world.committee, world.candidates(), world.open, Search::quick);
  world.pool.row(1)[0] = std::numeric_limits<float>::quiet_NaN();

  const auto found =
      best_single_steps(*world.committee, world.candidates(), world.open, Search::quick);

  EXPECT_EQ(found[0].step, whole[0].step);
  EXPECT_EQ(found[2].step, whole[2].step);
  EXPECT_EQ(found[1].step, 0u);
  EXPECT_EQ(found[1].utility, -std::numeric_limits<double>::infinity());
}

// Breaks if ties go another way than exact's, or values are not those of patterns.
TEST(StapOneProperty, IsWhatExactFindsWhereThatIsASingleStep) {
  std::size_t single = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    World world = test::linear_world(seed, 2 + seed % 3, 1 + seed % 8, 4);
    if (seed == 11) {  // members that agree: all values are 0
      const auto member = test::linear_member(5, Rng(1));
      world.committee = std::make_unique<FakeCommittee>(
          world.pool.grid(), std::vector<FakeCommittee::Member>{member, member}, world.steps);
    }
    const auto one = test::patterns_of(*make_stap_one(), *world.committee, world.candidates(),
                                       world.open, Rng(1));
    const auto exact =
        test::patterns_of(*make_exact(), *world.committee, world.candidates(), world.open, Rng(1));

    for (std::size_t k = 0; k < exact.size(); ++k)
      if (exact[k].cost() == 1) {
        EXPECT_EQ(one[k], exact[k]);
        ++single;
      }
  }
  EXPECT_GT(single, 20u);
}

// One step cures all: what is left is given up at once. Breaks if nothing is given up.
TEST(StapOneCost, StepsThatCannotWinAreNotRolledOut) {
  // Members differ in the first step alone, by a shift that stays.
  constexpr std::size_t steps = 9;
  World world = test::linear_world(1, 2, steps, 1);
  for (float& value : world.pool.row(0)) value = 1.0f;  // sums are exact
  const auto member = [](float shift) {
    return [shift](const std::vector<float>& u, double time) {
      std::vector<float> next = u;
      if (time == 0.0)
        for (float& v : next) v += shift;
      return next;
    };
  };
  world.committee = std::make_unique<FakeCommittee>(
      world.pool.grid(), std::vector<FakeCommittee::Member>{member(1.0f), member(-1.0f)},
      world.steps);
  auto& committee = dynamic_cast<FakeCommittee&>(*world.committee);
  committee.at_once = 0;  // one step at a time

  const auto best = best_single_steps(committee, world.candidates(), world.open, Search::exact);

  EXPECT_EQ(best[0].step, 0u);
  EXPECT_EQ(best[0].utility, 4.0 * 5 * steps);
  EXPECT_EQ(committee.advanced, 2 * steps + 2 * steps) << "the rollouts and one step's";
}

// Frequencies of 3000 candidates over 5 steps at five standard errors (streams are fixed). Breaks
// if the draw is not keyed by candidate or favours a step.
TEST(UniformOne, DrawsEveryStepEquallyOften) {
  const World world = test::linear_world(1, 1, 5, 1);
  Ids ids(3000);
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::vector<std::size_t> seen(5, 0);

  for (const Pattern& p :
       test::patterns_of(*make_uniform_one(), *world.committee, world.candidates(), ids, Rng(3))) {
    ASSERT_EQ(p.cost(), 1u);
    ++seen[p.end() - 1];
  }

  for (const std::size_t n : seen) EXPECT_NEAR(double(n), 600.0, 5 * std::sqrt(3000 * 0.2 * 0.8));
}

}  // namespace
}  // namespace stap
