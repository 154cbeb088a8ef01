// Identities of the STAP utility, on the slow twin and on the utility that keeps states, over
// seeds. Each names the mutation that would break it.
#include "acquire/utility.h"

#include <gtest/gtest.h>

#include <numeric>

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
    Utility utility(*world.committee, world.candidates(), world.open.size(),
                    ordered_pairs(world.committee->members()));
    test::roll_out(utility, world.open);

    for (std::size_t c : world.open) {
      const Pattern nothing(world.steps);
      EXPECT_EQ(test::utility_of(utility, c, nothing), 0.0);
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
    Utility utility(*world.committee, world.candidates(), world.open.size(),
                    ordered_pairs(world.committee->members()));
    test::roll_out(utility, world.open);

    const auto q = spread_scores(*world.committee, world.candidates(), world.open);

    for (std::size_t c : world.open) {
      const double expected =
          2 * m / (m - 1) * reference::spread(models, world.steps, world.state(c));
      EXPECT_GT(expected, 0.0);
      EXPECT_NEAR(test::utility_of(utility, c, Pattern(world.steps, true)), expected,
                  kRounding * expected);
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

// Any trials of any candidates side by side, several of one candidate too, completed or given up,
// give the twin's values bit for bit, and bounds that fall towards them, however little memory
// there is for states. Breaks if a state is kept for another prefix or pair, if a state that made
// place is used, if a step starts one late, if the next row's place is one that the same call
// reads, or if two trials make the same state; the bounds, if steps that are not known are left out
// of them.
TEST(UtilityProperty, KeptStatesGiveTheTwinsValuesBitForBit) {
  for (World& world : test::some_worlds())
    for (const std::size_t values : {std::size_t{0}, std::size_t{6000}, kValuesAtATime}) {
      const auto models = world.models();
      Utility utility(*world.committee, world.candidates(), world.open.size(),
                      ordered_pairs(world.committee->members()), values);
      test::roll_out(utility, world.open);
      const Rng rng(3);
      std::vector<Pattern> last(world.open.size(), Pattern(world.steps, true));
      for (std::uint64_t round = 0; round < 12; ++round) {
        std::vector<Trial> trials;
        for (std::size_t c : world.open) {
          const Rng draw = rng.split("round", round).split("candidate", c);
          const auto count = static_cast<std::uint64_t>(draw.uniform(1000) * 4.0);
          for (std::uint64_t t = 0; t < count; ++t) {
            const Rng own = draw.split("trial", t);
            // Far from the last one at times, close to it at others.
            last[c] = own.uniform(1001) < 0.3 ? random_pattern(world.steps, own)
                                              : last[c].flipped(0.2, own);
            trials.push_back(utility.begin(c, last[c]));
          }
        }
        std::vector<std::size_t> under_way(trials.size());
        std::iota(under_way.begin(), under_way.end(), std::size_t{0});
        std::vector<double> bounds;
        for (const Trial& trial : trials) bounds.push_back(utility.bound(trial));
        for (std::size_t tick = 0; !under_way.empty(); ++tick) {
          std::vector<std::size_t> still;
          for (std::size_t t : under_way) {
            const Trial& trial = trials[t];
            EXPECT_LE(utility.bound(trial), bounds[t]);
            bounds[t] = utility.bound(trial);
            if (!utility.complete(trial)) {
              // Some are given up on the way.
              if (rng.split("tick", tick).uniform(t) > 0.05) still.push_back(t);
              continue;
            }
            const double value = utility.value(trial);
            EXPECT_GE(bounds[t], value);
            EXPECT_EQ(value, reference::utility(models, trial.pattern, world.state(trial.place)))
                << trial.pattern.text() << ", " << values << " values";
          }
          under_way = still;
          std::vector<Trial*> next;
          for (std::size_t t : under_way) next.push_back(&trials[t]);
          utility.step({}, next);
        }
      }
    }
}

// The mean model may stand in a pair. Breaks if a model is looked up by its number.
TEST(UtilityProperty, APairMayHoldTheMeanModel) {
  for (World& world : test::some_worlds(2)) {
    const auto models = world.models();
    Utility utility(*world.committee, world.candidates(), world.open.size(),
                    mean_field_pairs(world.committee->members()));
    test::roll_out(utility, world.open);
    const Pattern pattern = random_pattern(world.steps, Rng(2));

    const double value = test::utility_of(utility, 1, pattern);

    EXPECT_EQ(value, reference::mean_field(world.model(kMean), models, pattern, world.state(1)));
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
