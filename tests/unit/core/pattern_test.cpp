#include "stap/core/pattern.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/core/walk.h"

namespace stap {
namespace {

TEST(Pattern, CostEndAndText) {
  const Pattern pattern = Pattern::parse("0110100");

  EXPECT_EQ(pattern.steps(), 7u);
  EXPECT_EQ(pattern.cost(), 3u);
  EXPECT_EQ(pattern.end(), 5u);
  EXPECT_EQ(pattern.text(), "0110100");
  EXPECT_EQ(Pattern(4, true).text(), "1111");
  EXPECT_EQ(Pattern(4).end(), 0u);
  EXPECT_THROW(Pattern::parse("012"), Error);
}

TEST(Pattern, FirstKeepsTheEarliestSteps) {
  const Pattern pattern = Pattern::parse("0110101");

  EXPECT_EQ(pattern.first(2).text(), "0110000");
  EXPECT_EQ(pattern.first(9), pattern);
  EXPECT_EQ(pattern.first(0).cost(), 0u);
}

// 20,000 bits flipped with probability 0.1: the count lies within five standard deviations (42) of
// 2,000 but for once in two million streams; the stream is fixed.
TEST(Pattern, FlipsWithTheGivenProbability) {
  const Pattern flipped = Pattern(20000).flipped(0.1, Rng(1));

  EXPECT_NEAR(static_cast<double>(flipped.cost()), 2000.0, 5 * 42.4);
  EXPECT_EQ(Pattern(50).flipped(0.0, Rng(1)).cost(), 0u);
  EXPECT_EQ(Pattern(50).flipped(1.0, Rng(1)).cost(), 50u);
}

TEST(Walk, AsksSolverOrMeanModelAndEndsAfterTheLastBoughtStep) {
  Walk walk(Pattern::parse("01010"));
  std::vector<Walk::Next> asked;
  while (walk.next() != Walk::Next::nothing) {
    asked.push_back(walk.next());
    walk.advance();
  }

  using Next = Walk::Next;
  EXPECT_EQ(asked,
            (std::vector<Next>{Next::mean_model, Next::solver, Next::mean_model, Next::solver}));
  EXPECT_EQ(walk.end(), Walk::End::finished);
  EXPECT_EQ(walk.bought(), 2u);
  EXPECT_EQ(walk.unspent(), 0u);
  EXPECT_THROW(walk.advance(), Error);
}

TEST(Walk, EmptyPatternIsFinishedAtOnce) {
  EXPECT_EQ(Walk(Pattern(5)).next(), Walk::Next::nothing);
  EXPECT_EQ(Walk(Pattern(5)).end(), Walk::End::finished);
}

// A refused query costs nothing, a failed one is charged by whoever counts: either way
// bought + failed + unspent is the pattern's cost.
TEST(Walk, RefusalAndFailureEndIt) {
  Walk refused(Pattern::parse("1101")), failed(Pattern::parse("1101"));
  refused.advance();
  failed.advance();
  refused.refuse("too large");
  failed.fail("blew up");

  EXPECT_EQ(refused.end(), Walk::End::refused);
  EXPECT_EQ(refused.reason(), "too large");
  EXPECT_EQ(refused.bought() + refused.unspent(), 3u);
  EXPECT_EQ(failed.end(), Walk::End::failed);
  EXPECT_EQ(failed.bought() + 1 + failed.unspent(), 3u);
  EXPECT_EQ(failed.next(), Walk::Next::nothing);
}

TEST(Walk, OnlyASolverQueryCanBeRefused) {
  Walk walk(Pattern::parse("01"));

  EXPECT_THROW(walk.refuse("no"), Error);
}

}  // namespace
}  // namespace stap
