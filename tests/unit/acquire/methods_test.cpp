#include "stap/acquire/methods.h"

#include <gtest/gtest.h>

#include "stap/acquire/plan.h"
#include "stap/core/error.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::World;

template <class Act>
std::string config_error(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

template <class Rows>
void check_table(const Rows& rows) {
  for (const auto& row : rows) {
    config::Value misspelt;
    misspelt.set("no_such_option", 1);

    EXPECT_EQ(row.make({})->name(), row.name);
    EXPECT_FALSE(row.text.empty());
    EXPECT_GE(row.make({})->members_needed(), 1);
    expect_in("no_such_option", config_error([&] { row.make(misspelt); }));
  }
}

TEST(MethodTables, EveryEntryIsMadeFromItsDefaultsAndRefusesUnknownKeys) {
  check_table(selector_table());
  check_table(chooser_table());
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
