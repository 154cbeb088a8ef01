#include "stap/acquire/methods.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stap/core/error.h"
#include "support/acquiring.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::spend;
using test::World;

template <class Act>
std::string config_error(const Act& act) {
  return test::error_text(ErrorKind::config, act);
}

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

template <class Row>
void check_row(const Row& row) {
  const auto made = row.make({}, {});
  config::Value misspelt;
  misspelt.set("no_such_option", 1);

  EXPECT_EQ(made->name(), row.name);
  EXPECT_FALSE(row.text.empty());
  EXPECT_GE(made->members_needed(), 1);
  expect_in("no_such_option", config_error([&] { config::read(*row.fields, misspelt, "x"); }));
}

TEST(MethodTables, EveryEntryIsMadeFromItsDefaultsAndRefusesUnknownKeys) {
  for (const ChooserRow& row : chooser_table()) check_row(row);
  for (const SelectorRow& row : selector_table()) check_row(row);
  for (const PlannerRow& row : planner_table()) check_row(row);
}

// The values of the printed method.
TEST(MethodTables, DefaultsAreThoseOfTheMethod) {
  EXPECT_EQ(SbalOptions{}.exponent, 1.0);
  EXPECT_EQ(StapOptions{}.proposals, 100u);
  EXPECT_EQ(StapOptions{}.epsilon, 0.1);
}

TEST(MethodTables, OptionsOutOfRangeAreRefused) {
  config_error([] { make_sbal({-1.0}); });
  config_error([] { make_stap({100, 1.5}); });
  config_error([] { make_stap({100, -0.1}); });
  expect_in("stap-mf.epsilon", config_error([] { make_stap_mf({100, 1.5}); }));
  for (const double p : {0.0, -0.5, 1.0001, std::nan("")}) {
    expect_in("bernoulli.p", config_error([&] { make_bernoulli({p}); }));
    expect_in("initial-bernoulli.p", config_error([&] { make_initial_bernoulli({p}); }));
  }
  expect_in("every.k", config_error([] { make_every({0}); }));
}

TEST(Every, BuysTheFirstStepAndThenOneInK) {
  const World world = test::linear_world(1, 1, 7, 3);
  const auto chosen = [&](std::size_t k) {
    const std::vector<std::size_t> ids = {2, 0};
    const auto patterns =
        test::patterns_of(*make_every({k}), *world.committee, world.candidates(), ids, Rng(1));
    EXPECT_EQ(patterns.size(), 2u);
    EXPECT_EQ(patterns[0], patterns[1]);
    return patterns[0].text();
  };

  EXPECT_EQ(chosen(1), "1111111");
  EXPECT_EQ(chosen(2), "1010101");
  EXPECT_EQ(chosen(3), "1001001");
  EXPECT_EQ(chosen(7), "1000000");
  EXPECT_EQ(chosen(100), "1000000");
}

TEST(Bernoulli, OfProbabilityOneBuysAll) {
  const World world = test::linear_world(1, 1, 7, 3);

  for (const auto& chooser : {make_bernoulli({1.0}), make_initial_bernoulli({1.0})})
    EXPECT_EQ(test::patterns_of(*chooser, *world.committee, world.candidates(), world.open, Rng(1)),
              std::vector<Pattern>(3, Pattern(7, true)));
}

// Redrawing alone would not end.
TEST(Bernoulli, OfATinyProbabilityBuysOneStep) {
  const World world = test::linear_world(1, 1, 7, 3);

  for (const auto& chooser : {make_bernoulli({1e-300}), make_initial_bernoulli({1e-300})})
    for (const Pattern& pattern :
         test::patterns_of(*chooser, *world.committee, world.candidates(), world.open, Rng(1)))
      EXPECT_EQ(pattern.cost(), 1u);
}

TEST(Spend, NamesTheMethodThatTakesOnlyShorterTrajectories) {
  World world = test::linear_world(1, 2, 26, 3);
  World longest = test::linear_world(1, 2, 16, 3);

  expect_in("exact takes trajectories of at most 16 steps, these have 26: choose stap",
            config_error([&] {
              spend(5, *make_random(), *make_exact(), *world.committee, world.candidates(), Rng(1));
            }));
  EXPECT_EQ(
      spend(1, *make_random(), *make_exact(), *longest.committee, longest.candidates(), Rng(1))
          .cost(),
      1u);
}

TEST(Spend, RefusesABudgetOfNothing) {
  World world = test::linear_world(1, 2, 4, 3);

  expect_in("budget", config_error([&] {
              spend(0, *make_random(), *make_full(), *world.committee, world.candidates(), Rng(1));
            }));
}

TEST(Spend, RefusesTrajectoriesWithoutSteps) {
  World world = test::linear_world(1, 2, 0, 3);

  expect_in("steps", config_error([&] {
              spend(5, *make_random(), *make_full(), *world.committee, world.candidates(), Rng(1));
            }));
}

TEST(Spend, NamesTheMethodThatNeedsMoreMembers) {
  World alone = test::linear_world(1, 1, 4, 3);
  const auto message = [&](const Selector& selector, const StepChooser& chooser) {
    return config_error(
        [&] { spend(5, selector, chooser, *alone.committee, alone.candidates(), Rng(1)); });
  };

  expect_in("qbc needs a committee of at least 2 members, this one has 1",
            message(*make_qbc(), *make_full()));
  expect_in("sbal needs", message(*make_sbal({}), *make_full()));
  expect_in("stap needs", message(*make_random(), *make_stap({})));
  expect_in("stap-mf needs", message(*make_random(), *make_stap_mf({})));
  expect_in("exact needs", message(*make_random(), *make_exact()));
  EXPECT_EQ(
      spend(5, *make_random(), *make_full(), *alone.committee, alone.candidates(), Rng(1)).cost(),
      5u);
}

TEST(Spend, CutsTheLastPatternToItsFirstSteps) {
  World world = test::linear_world(1, 2, 4, 3);

  const Plan plan =
      spend(6, *make_random(), *make_full(), *world.committee, world.candidates(), Rng(1));

  ASSERT_EQ(plan.purchases.size(), 2u);
  EXPECT_EQ(plan.purchases[0].pattern.text(), "1111");
  EXPECT_EQ(plan.purchases[1].pattern.text(), "1100");
  EXPECT_EQ(plan.unspent, 0u);
}

TEST(Spend, SaysWhatAnExhaustedPoolLeaves) {
  World world = test::linear_world(1, 2, 4, 3);
  world.open = {1};

  const Plan plan =
      spend(6, *make_qbc(), *make_full(), *world.committee, world.candidates(), Rng(1));

  EXPECT_EQ(plan.purchases, (std::vector<Purchase>{{1, Pattern(4, true)}}));
  EXPECT_EQ(plan.unspent, 2u);
}

}  // namespace
}  // namespace stap
