// Laws of every chooser, the frequencies of those that draw, and the exact one against exhaustion.
#include "stap/acquire/chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "acquire/tree.h"
#include "stap/acquire/methods.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::World;
using Ids = std::vector<std::size_t>;

std::vector<Pattern> chosen(const StepChooser& chooser, const World& world, const Ids& ids,
                            std::uint64_t seed = 2) {
  return test::patterns_of(chooser, *world.committee, world.candidates(), ids, Rng(seed));
}

// Breaks if a chooser returns an empty pattern, one of another length, or not one for each id.
TEST(ChooserProperty, EveryPatternIsWholeAndNotEmpty) {
  for (const World& world : test::some_worlds(4))
    for (const ChooserRow& row : chooser_table())
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Ids ids = {3, 1, 2};

        const auto patterns = chosen(*row.make({}, {}), world, ids, seed);

        ASSERT_EQ(patterns.size(), ids.size()) << row.name;
        for (const Pattern& pattern : patterns) {
          EXPECT_EQ(pattern.steps(), world.steps) << row.name;
          EXPECT_GT(pattern.cost(), 0u) << row.name;
        }
      }
}

// Any part of the pool in any order, one candidate at a time included. Breaks if a draw is keyed by
// position, or rows, batches or the best value known are shared between candidates.
TEST(ChooserProperty, ACandidatesPatternDoesNotDependOnTheOthers) {
  for (const World& world : test::some_worlds(7))
    for (const ChooserRow& row : chooser_table()) {
      const auto chooser = row.make({}, {});
      const Ids shuffled = {4, 6, 0, 3};

      const auto all = chosen(*chooser, world, world.open);
      const auto some = chosen(*chooser, world, shuffled);

      for (std::size_t k = 0; k < shuffled.size(); ++k) {
        EXPECT_EQ(some[k], all[shuffled[k]]) << row.name;
        EXPECT_EQ(chosen(*chooser, world, {shuffled[k]})[0], some[k]) << row.name;
      }
    }
}

// Breaks if a chooser stops a candidate early or late, gives up one that is still needed, counts
// one that is not finished with more than it may come to cost, or forgets a warm-up that is
// charged.
TEST(ChooserProperty, PatternsEndWhereTheBudgetIsReached) {
  std::vector<World> worlds = test::some_worlds(13);
  worlds.back().warm_up = 4;
  for (const World& world : worlds)
    for (const ChooserRow& row : chooser_table()) {
      const auto chooser = row.make({}, {});
      const auto all = chosen(*chooser, world, world.open);
      std::size_t total = 0;
      for (const Pattern& pattern : all) total += pattern.cost() + world.warm_up;
      for (std::size_t budget = 1; budget <= total + 3; budget += 1 + budget / 4) {
        const auto first =
            chooser->choose(*world.committee, world.candidates(), world.open, budget, Rng(2));

        std::size_t expected = 0;
        for (std::size_t spent = 0; expected < all.size() && spent < budget;)
          spent += all[expected++].cost() + world.warm_up;
        ASSERT_EQ(first.size(), expected) << row.name << ", budget " << budget;
        for (std::size_t k = 0; k < expected; ++k) EXPECT_EQ(first[k], all[k]) << row.name;
      }
    }
}

// Breaks if one candidate's NaN reaches another, or passes a comparison.
TEST(ChooserProperty, ACandidateThatIsNotFiniteTouchesNoOther) {
  World world = test::linear_world(3, 2, 7, 3), clean = test::linear_world(3, 2, 7, 3);
  world.pool.row(1)[2] = std::numeric_limits<float>::infinity();
  for (const ChooserRow& row : chooser_table()) {
    const auto patterns = chosen(*row.make({}, {}), world, world.open);
    const auto expected = chosen(*row.make({}, {}), clean, clean.open);

    EXPECT_EQ(patterns[0], expected[0]) << row.name;
    EXPECT_EQ(patterns[2], expected[2]) << row.name;
    if (row.name == "stap-one") {
      EXPECT_EQ(patterns[1].text(), "1000000");
    } else if (row.make({}, {})->members_needed() > 1) {
      EXPECT_EQ(patterns[1], Pattern(7, true)) << row.name;
    }
  }
}

// Breaks if a chooser keeps rows of the committee.
TEST(ChooserProperty, RowsAreGivenBack) {
  for (const ChooserRow& row : chooser_table()) {
    const World world = test::linear_world(1, 2, 4, 3);

    chosen(*row.make({}, {}), world, world.open);

    EXPECT_EQ(dynamic_cast<FakeCommittee&>(*world.committee).blocks_in_use(), 0u) << row.name;
  }
}

// Breaks if the members' pairs are used, the mean model stands in the place of b, or the draws are
// not those of stap.
TEST(StapMeanField, FindsWhatTheUncachedSearchFinds) {
  for (const World& world : test::some_worlds(3)) {
    const auto models = world.models();
    const auto mean = world.model(kMean);
    const Ids ids = {2, 0};
    for (const std::size_t proposals : {0, 1, 3, 8, 25}) {
      const auto patterns = chosen(*make_stap_mf({proposals, 0.15}), world, ids);

      for (std::size_t k = 0; k < ids.size(); ++k) {
        const auto utility = [&](const Pattern& s) {
          return reference::mean_field(mean, models, s, world.state(ids[k]));
        };
        EXPECT_EQ(patterns[k], reference::search(utility, world.steps, proposals, 0.15,
                                                 Rng(2).split("candidate", ids[k]))
                                   .pattern)
            << proposals << " proposals";
      }
    }
  }
}

// The mean model and every member: M rollouts a step that is new. Breaks if ordered pairs are used.
TEST(StapMeanField, RollsOutOncePerMember) {
  constexpr std::size_t members = 4, steps = 6;
  const World world = test::linear_world(1, members, steps, 1);
  auto& committee = dynamic_cast<FakeCommittee&>(*world.committee);
  Utility utility(committee, world.candidates(), world.open.size(), mean_field_pairs(members));
  test::roll_out(utility, world.open);
  EXPECT_EQ(committee.advanced, (members + 1) * steps);

  test::utility_of(utility, 0, Pattern::parse("100000"));

  EXPECT_EQ(committee.advanced, (members + 1) * steps + members * (steps - 1));
}

// Every bit is 1 with probability p, given that some bit is: p / (1 - (1-p)^L) each, and two given
// bits p^2 / (1 - (1-p)^L). 4000 candidates; each of 36 shares is compared at five standard errors,
// so a right chooser fails with probability 36 * 6e-7 = 2e-5 (once and for all: streams are fixed).
// Breaks if an empty draw is filled instead of redrawn, a bit's draw is shared with its neighbour,
// or neighbouring candidates share draws.
TEST(Bernoulli, HasTheFrequenciesOfTheLaw) {
  constexpr std::size_t steps = 4, n = 4000;
  World world = test::linear_world(1, 1, steps, 1);
  Ids ids(n);
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto patterns = chosen(*make_bernoulli({p}), world, ids);

    const double filled = 1 - std::pow(1 - p, double{steps});
    const auto expect_share = [&](double trials, const auto& holds, double expected) {
      const double hits = static_cast<double>(std::count_if(ids.begin(), ids.end(), holds));
      EXPECT_NEAR(hits / trials, expected, 5 * std::sqrt(expected * (1 - expected) / trials)) << p;
    };
    for (std::size_t i = 0; i < steps; ++i) {
      expect_share(
          double{n}, [&](std::size_t c) { return patterns[c][i]; }, p / filled);
      for (std::size_t j = i + 1; j < steps; ++j)
        expect_share(
            double{n}, [&](std::size_t c) { return patterns[c][i] && patterns[c][j]; },
            p * p / filled);
    }
    // Two candidates in a row, which are independent: half of them as disjoint pairs.
    const double together = std::pow(p / filled, 2);
    for (const std::size_t i : {0, 3})
      expect_share(
          n / 2.0,
          [&](std::size_t c) { return c % 2 == 0 && patterns[c][i] && patterns[c + 1][i]; },
          together);
  }
}

// Breaks if the two draw from different streams, or if steps are moved to the end.
TEST(InitialBernoulli, IsAPrefixAsLongAsBernoullisPatternIsDear) {
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const double p : {0.05, 0.3, 0.8}) {
      const World world = test::linear_world(1, 1, 9, 5);

      const auto spread = chosen(*make_bernoulli({p}), world, world.open, seed);
      const auto prefix = chosen(*make_initial_bernoulli({p}), world, world.open, seed);

      for (std::size_t c : world.open) {
        EXPECT_EQ(prefix[c].cost(), spread[c].cost());
        EXPECT_EQ(prefix[c].end(), prefix[c].cost());
        moved += prefix[c] != spread[c] ? 1 : 0;
      }
    }
  EXPECT_GT(moved, 150u);  // of 300
}

// A round's draws are its own. Breaks if the round's stream is not used.
TEST(Bernoulli, AnotherRoundDrawsAnew) {
  const World world = test::linear_world(1, 1, 20, 5);

  EXPECT_NE(chosen(*make_bernoulli({0.5}), world, world.open, 1),
            chosen(*make_bernoulli({0.5}), world, world.open, 2));
}

// The value of every candidate's all ones, from which the tree must find everything by itself.
std::vector<Found> all_ones(Utility& utility) {
  const Pattern ones(utility.steps(), true);
  std::vector<Found> start;
  for (std::size_t c = 0; c < utility.places(); ++c)
    start.push_back({ones, utility.per_step(test::utility_of(utility, c, ones), ones.cost())});
  return start;
}

// Pattern and value are those of the twin, bit for bit, for any batch and any start; the search is
// never above. Breaks if a prefix that can still win is left out (the bound without later steps, or
// divided by the cost plus one), if a child starts from another prefix's rows, or if a level
// overwrites rows that are still needed.
TEST(ExactProperty, IsTheExhaustiveOptimum) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    World world = test::linear_world(seed, 2 + seed % 3, 1 + seed % 8, 3);
    world.warm_up = seed % 4 == 3 ? 5 : 0;
    const auto models = world.models();
    const auto pairs = ordered_pairs(world.committee->members());
    Utility utility(*world.committee, world.candidates(), world.open.size(), pairs);
    test::roll_out(utility, world.open);
    std::vector<reference::Best> expected;
    for (std::size_t c : world.open)
      expected.push_back(reference::exhaust(models, world.steps, world.state(c), world.warm_up));
    const auto start = all_ones(utility);
    const auto exact = chosen(*make_exact(), world, world.open, seed);
    const auto searched = test::search_alone(utility, world.open, kNoLimit, {}, Rng(seed));
    for (const std::size_t rows : {1, 7, 60, 2000})
      for (const auto& from : {start, searched}) {
        const auto best =
            best_of_all(*world.committee, world.candidates(), world.open, utility, from, rows);

        for (std::size_t c : world.open) {
          EXPECT_EQ(best[c].pattern, expected[c].pattern) << rows << " rows, seed " << seed;
          EXPECT_EQ(best[c].value, expected[c].value);
          EXPECT_EQ(exact[c], expected[c].pattern);
          EXPECT_LE(searched[c].value, best[c].value);
        }
      }
  }
}

// Networks with a time input. Breaks if the tree's times are a step off.
TEST(ExactProperty, IsTheExhaustiveOptimumOfNetworks) {
  const World world = test::network_world(4, 3, 5, 2);
  const auto models = world.models();

  const auto exact = chosen(*make_exact(), world, world.open);

  for (std::size_t c : world.open)
    EXPECT_EQ(exact[c], reference::exhaust(models, world.steps, world.state(c)).pattern);
}

// Members that agree: all values are 0. Breaks if equals are left out of the tree, or taken by
// their order in it.
TEST(ExactProperty, OfEqualsTakesTheFewestStepsThenTheFirstAsText) {
  World world = test::linear_world(1, 2, 6, 3);
  const auto member = test::linear_member(5, Rng(1));
  world.committee = std::make_unique<FakeCommittee>(
      world.pool.grid(), std::vector<FakeCommittee::Member>{member, member}, world.steps);

  const auto exact = chosen(*make_exact(), world, world.open);

  EXPECT_EQ(exact, std::vector<Pattern>(3, Pattern::parse("000001")));
}

// Two members on one value. Steps 1 and 2 give member 0's sign whatever the state; step 3 gives 1
// or -1 likewise, but 10 times the sign of the state where that is not the member's own. All of
// member 0's with all of member 1's are 2 apart, so a(100) = 4, a(011) = 4 + 4, a(111) = 12: 4 a
// step; all others send one member's state through the other in step 3 and lose 117 there. Breaks
// if equals go by their text alone.
TEST(ExactProperty, OfEqualsTakesTheFewestStepsEvenIfLaterAsText) {
  World world = test::linear_world(1, 2, 3, 1, 1);
  const auto member = [](float sign) {
    return [sign](const std::vector<float>& u, double time) {
      const bool own = time < 0.5 || u[0] * sign > 0.0f;
      return std::vector<float>{own ? sign : -10.0f * sign};
    };
  };
  world.committee = std::make_unique<FakeCommittee>(
      world.pool.grid(), std::vector<FakeCommittee::Member>{member(1.0f), member(-1.0f)},
      world.steps);
  const auto value = [&](const char* text) {
    const Pattern s = Pattern::parse(text);
    return reference::utility(world.models(), s, world.state(0)) / static_cast<double>(s.cost());
  };
  for (const char* best : {"100", "011", "111"}) ASSERT_EQ(value(best), 4.0) << best;
  for (const char* other : {"010", "001", "110", "101"}) ASSERT_LT(value(other), 0.0) << other;

  const auto exact = chosen(*make_exact(), world, world.open);

  EXPECT_EQ(exact[0].text(), "100");
}

// Breaks if a candidate that nothing can be said about is rolled out all the same.
TEST(ExactCost, IsNothingForACandidateThatIsNotFinite) {
  World world = test::linear_world(2, 2, 6, 1);
  world.pool.row(0)[0] = std::numeric_limits<float>::infinity();
  auto& committee = dynamic_cast<FakeCommittee&>(*world.committee);
  Utility utility(committee, world.candidates(), world.open.size(), ordered_pairs(2));
  test::roll_out(utility, world.open);
  const auto start = all_ones(utility);
  committee.advanced = 0;

  best_of_all(committee, world.candidates(), world.open, utility, start, 64);

  EXPECT_EQ(committee.advanced, 0u);
}

// At most one row for every prefix and pair, and batches of the size asked for. Breaks if every
// pattern is rolled out by itself, or nothing is left out.
TEST(ExactCost, SharesPrefixesAndLeavesOutWhatCannotWin) {
  constexpr std::size_t members = 2, steps = 10, pairs = 2;
  const World world = test::linear_world(2, members, steps, 1);
  auto& committee = dynamic_cast<FakeCommittee&>(*world.committee);
  Utility utility(committee, world.candidates(), world.open.size(), ordered_pairs(members));
  test::roll_out(utility, world.open);
  const auto start = all_ones(utility);
  committee.advanced = 0;

  best_of_all(committee, world.candidates(), world.open, utility, start, 64);

  const std::size_t whole_tree = pairs * ((std::size_t{2} << steps) - 2);
  EXPECT_LT(committee.advanced, whole_tree / 2);
  EXPECT_GE(committee.advanced, pairs * steps);
}

}  // namespace
}  // namespace stap
