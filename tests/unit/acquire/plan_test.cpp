#include "stap/acquire/plan.h"

#include <gtest/gtest.h>

#include "stap/acquire/methods.h"
#include "support/acquiring.h"

namespace stap {
namespace {

// Selection in several passes adds up; asking for the time changes nothing.
TEST(Spend, AddsTheSecondsOfItsTwoQuestions) {
  test::World world = test::linear_world(5, 2, 4, 12);
  const auto sbal = make_sbal({});
  const auto stap = make_stap({});
  SelectionSeconds seconds{.score = 100.0, .choose = 200.0};

  const Plan timed = spend(9, *sbal, *stap, *world.committee, world.candidates(), Rng(1), &seconds);

  EXPECT_GT(seconds.score, 100.0);
  EXPECT_GT(seconds.choose, 200.0);
  EXPECT_EQ(timed, spend(9, *sbal, *stap, *world.committee, world.candidates(), Rng(1)));
}

}  // namespace
}  // namespace stap
