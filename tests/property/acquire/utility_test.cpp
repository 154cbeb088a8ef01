// Identities of the STAP utility, on the slow twin and on the utility that keeps states, over
// seeds. Each names the mutation that would break it.
#include "acquire/utility.h"

#include <gtest/gtest.h>

#include "stap/acquire/pool.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using reference::State;
using test::random_pattern;
using test::World;

// Sums of a few hundred positive doubles: rounding is below 1e-13.
constexpr double kRounding = 1e-12;

// Breaks if a pattern without purchases counts as one (e.g. e = 0 where b's rollout is reused).
TEST(UtilityProperty, OfNothingBoughtIsZero) {
  for (World& world : test::some_worlds()) {
    const auto models = world.models();
    Utility utility(*world.committee, world.candidates(), world.open,
                    ordered_pairs(world.committee->members()));

    for (std::size_t c : world.open) {
      const Pattern nothing(world.steps);
      const Trial trial{c, nothing};
      EXPECT_EQ(utility.evaluate({&trial, 1})[0], 0.0);
      EXPECT_EQ(reference::utility(models, nothing, world.state(c)), 0.0);
    }
  }
}

// Breaks if pairs are averaged over M^2, if a = b is counted, or if a step is missing in either
// sum.
TEST(UtilityProperty, OfAllStepsIsTheSpread) {
  for (World& world : test::some_worlds()) {
    const double m = world.committee->members();
    const auto models = world.models();
    Utility utility(*world.committee, world.candidates(), world.open,
                    ordered_pairs(world.committee->members()));

    const auto q = spread_scores(*world.committee, world.candidates(), world.open);

    for (std::size_t c : world.open) {
      const double expected =
          2 * m / (m - 1) * reference::spread(models, world.steps, world.state(c));
      EXPECT_GT(expected, 0.0);
      EXPECT_NEAR(utility.standing_value(c), expected, kRounding * expected);
      EXPECT_NEAR(2 * m / (m - 1) * q[c], expected, kRounding * expected);
    }
  }
}

// On the twin, which computes it: why a = b is left out elsewhere. Breaks if the mixed rollout
// takes another model than a or b.
TEST(UtilityProperty, OfAModelWithItselfIsZero) {
  for (const World& world : test::some_worlds(2))
    for (std::uint64_t k = 0; k < 5; ++k) {
      const Pattern s = random_pattern(world.steps, Rng(k));
      for (const auto& model : world.models())
        EXPECT_EQ(reference::reduction(model, model, s, world.state(0)), 0.0) << s.text();
    }
}

// On the twin: what the utility's shortcuts rest on. Breaks if a and b are exchanged.
TEST(UtilityProperty, PrefixesOfOnesAndZerosAreRollouts) {
  for (const World& world : test::some_worlds(2)) {
    const auto models = world.models();
    const State u0 = world.state(1);
    const auto a = reference::rollout(models[0], world.steps, u0);
    const auto b = reference::rollout(models[1], world.steps, u0);
    for (std::size_t n = 1; n <= world.steps; ++n)
      for (const bool ones : {true, false}) {
        Pattern s = random_pattern(world.steps, Rng(n));
        for (std::size_t i = 0; i < n; ++i) s.set(i, ones);

        const auto mixed = reference::mixed_rollout(models[0], models[1], s, u0);

        for (std::size_t i = 0; i < n; ++i)
          EXPECT_EQ(mixed[i], ones ? a[i] : b[i]) << s.text() << " step " << i;
      }
  }
}

// On the twin. Breaks if a bit acts on the step before its own.
TEST(UtilityProperty, AFlipLeavesEarlierStatesUnchanged) {
  for (const World& world : test::some_worlds(2)) {
    const auto models = world.models();
    const State u0 = world.state(0);
    for (std::size_t i = 0; i < world.steps; ++i) {
      const Pattern s = random_pattern(world.steps, Rng(i));
      Pattern flipped = s;
      flipped.set(i, !s[i]);

      const auto before = reference::mixed_rollout(models[0], models[1], s, u0);
      const auto after = reference::mixed_rollout(models[0], models[1], flipped, u0);

      for (std::size_t k = 0; k < i; ++k) EXPECT_EQ(before[k], after[k]);
      EXPECT_NE(before[i], after[i]);
    }
  }
}

// Any sequence of trials, accepted or not, gives the twin's values bit for bit. Breaks if a trial
// writes into the standing path's rows, restarts one step late, or keeps a distance too many; the
// bound, if steps that are not known are left out of it.
TEST(UtilityProperty, KeptStatesGiveTheTwinsValuesBitForBit) {
  for (World& world : test::some_worlds()) {
    const auto models = world.models();
    Utility utility(*world.committee, world.candidates(), world.open,
                    ordered_pairs(world.committee->members()));
    const Rng rng(3);
    for (std::uint64_t round = 0; round < 12; ++round) {
      std::vector<Trial> trials;
      for (std::size_t c : world.open) {
        const Rng draw = rng.split("round", round).split("candidate", c);
        if (draw.uniform(1000) < 0.2) continue;
        // Far from where it stands at times, close to it at others.
        trials.push_back({c, draw.uniform(1001) < 0.3 ? random_pattern(world.steps, draw)
                                                      : utility.standing(c).flipped(0.2, draw)});
      }

      std::vector<double> bounds;
      for (const Trial& trial : trials) bounds.push_back(utility.bound(trial));

      const auto values = utility.evaluate(trials);

      for (std::size_t t = 0; t < trials.size(); ++t) {
        const std::size_t c = trials[t].candidate;
        EXPECT_GE(bounds[t], values[t]);
        EXPECT_EQ(values[t], reference::utility(models, trials[t].pattern, world.state(c)))
            << trials[t].pattern.text() << " from " << utility.standing(c).text();
        if (rng.split("accept", round).uniform(c) < 0.5) {
          utility.accept(c);
          EXPECT_EQ(utility.standing(c), trials[t].pattern);
          EXPECT_EQ(utility.standing_value(c), values[t]);
        }
      }
    }
  }
}

// The mean model may stand in a pair. Breaks if a model is looked up by its number.
TEST(UtilityProperty, APairMayHoldTheMeanModel) {
  for (World& world : test::some_worlds(2)) {
    const auto models = world.models();
    Utility utility(*world.committee, world.candidates(), world.open,
                    mean_field_pairs(world.committee->members()));
    const Trial trial{1, random_pattern(world.steps, Rng(2))};

    const double value = utility.evaluate({&trial, 1})[0];

    EXPECT_EQ(value,
              reference::mean_field(world.model(kMean), models, trial.pattern, world.state(1)));
  }
}

// Breaks if blocks are summed in another order or a row depends on its neighbours.
TEST(SpreadScores, DoNotDependOnTheBlock) {
  for (World& world : test::some_worlds(7)) {
    const auto models = world.models();

    const auto together = spread_scores(*world.committee, world.candidates(), world.open);

    for (const std::size_t block : {0, 1, 2, 3, 6, 7, 8})
      EXPECT_EQ(spread_scores(*world.committee, world.candidates(), world.open, block), together);
    for (std::size_t c : world.open)
      EXPECT_NEAR(together[c], reference::spread(models, world.steps, world.state(c)),
                  kRounding * together[c]);
  }
}

}  // namespace
}  // namespace stap
