#include "core/breaker.h"

#include <gtest/gtest.h>

namespace stap {
namespace {

// Answers by their letters: 'f' failed, anything else is good.
Breaker seen(const FailurePolicy& policy, const std::string& answers) {
  Breaker breaker(policy);
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers[i] == 'f')
      breaker.add({.candidate = i, .reason = "why"});
    else
      breaker.add_good();
  return breaker;
}
std::vector<std::size_t> named(const Breaker& breaker) {
  std::vector<std::size_t> candidates;
  for (const Failure& failure : breaker.failures()) candidates.push_back(failure.candidate);
  return candidates;
}
constexpr FailurePolicy kBreaker{.breaker = true}, kAbort{.abort = true};

TEST(Breaker, ASolverOfThisProcessMayFailAsItLikes) {
  EXPECT_FALSE(seen({}, std::string(100, 'f')).tripped());
}

TEST(Breaker, TheFirstThreeAreEnough) {
  EXPECT_FALSE(seen(kBreaker, "ff").tripped());
  EXPECT_EQ(seen(kBreaker, "fff").verdict(), "the first 3 answers all failed");
  EXPECT_EQ(named(seen(kBreaker, "fff")), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_FALSE(seen(kBreaker, ".fff").tripped());
}

TEST(Breaker, MoreThanHalfOfTheLastTwentyAreEnough) {
  EXPECT_FALSE(seen(kBreaker, ".ffffffffff").tripped());  // 10
  EXPECT_EQ(seen(kBreaker, ".fffffffffff").verdict(), "11 of the last 12 answers failed");
  EXPECT_FALSE(seen(kBreaker, ".f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f.f").tripped());
  EXPECT_EQ(seen(kBreaker, ".f.f.f.f.f.f.f.f.f.f.ff").verdict(),
            "11 of the last 20 answers failed");
  // Long ago is forgotten: 10 failures, 10 good ones, 10 failures.
  EXPECT_FALSE(seen(kBreaker, "..........ffffffffff..........ffffffffff").tripped());
}

TEST(Breaker, TheFirstFailureIsEnoughToAbort) {
  EXPECT_FALSE(seen(kAbort, "....").tripped());
  EXPECT_TRUE(seen(kAbort, "...f").tripped());
  EXPECT_EQ(named(seen(kAbort, "...f")), (std::vector<std::size_t>{3}));
}

// What comes while everything ends belongs to it; good answers change nothing any more.
TEST(Breaker, KeepsWhatComesBehind) {
  const Breaker breaker = seen(kBreaker, "fff..f" + std::string(30, '.') + "f");

  EXPECT_TRUE(breaker.tripped());
  EXPECT_EQ(named(breaker), (std::vector<std::size_t>{0, 1, 2, 5, 36}));
}

TEST(Breaker, FailuresThatAreSettledCountButAreNotNamed) {
  Breaker breaker = seen(kBreaker, ".ffffff");
  breaker.settle();
  for (std::size_t i = 0; i < 5; ++i) breaker.add({.candidate = 100 + i, .reason = "why"});

  EXPECT_TRUE(breaker.tripped());
  EXPECT_EQ(named(breaker), (std::vector<std::size_t>{100, 101, 102, 103, 104}));
  EXPECT_EQ(breaker.settled(), 6u);
}

}  // namespace
}  // namespace stap
