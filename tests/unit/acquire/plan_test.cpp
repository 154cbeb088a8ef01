#include "stap/acquire/plan.h"

#include <gtest/gtest.h>

#include "stap/acquire/methods.h"
#include "support/acquiring.h"

namespace stap {
namespace {

TEST(Spending, MeasuresTheTwoQuestionsOfItsLastPlan) {
  test::World world = test::linear_world(5, 2, 4, 12);
  const auto sbal = make_sbal({});
  const auto stap = make_stap({});
  const auto full = make_full();
  const Candidates candidates = world.candidates();
  Spending searching(*sbal, *stap, *world.committee, candidates, Rng(1));
  Spending whole(*sbal, *full, *world.committee, candidates, Rng(1));

  searching.next(9);
  whole.next(9);  // three candidates at most of an order of nine
  const SelectionSeconds first = whole.seconds();
  whole.next(1);

  EXPECT_GT(searching.seconds().choose, 0.0);
  EXPECT_GT(first.score, 0.0);
  EXPECT_EQ(whole.seconds().score, 0.0) << "the order was known";
}

}  // namespace
}  // namespace stap
