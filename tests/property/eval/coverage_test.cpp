// What split conformal calibration promises, on scores of known distributions.
#include "stap/eval/coverage.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "stap/core/rng.h"

namespace stap {
namespace {

constexpr std::size_t kTimes = 4000;  // calibrations of each kind

// Uniform scores, of which a bar q covers the share q of all to come.
std::vector<double> uniform_scores(std::size_t n, const Rng& rng) {
  std::vector<double> scores(n);
  for (std::size_t i = 0; i < n; ++i) scores[i] = rng.uniform(i);
  return scores;
}

// The share that is covered is beta distributed with a = ceil((n + 1) level), b = n + 1 - a: mean
// a / (n + 1), variance a b / ((n + 1)^2 (n + 2)). Tolerance: five standard errors of the mean of
// 4,000. Mutation: n in the place of n + 1 (a mean of 18/21 instead of 19/21 for n = 20 and 0.9), a
// rank that is rounded down, one order statistic too far.
TEST(CoverageLaw, OfFirstStatesIsBeta) {
  for (const auto& [n, level] :
       {std::pair{20U, 0.9}, {9U, 0.9}, {50U, 0.9}, {33U, 0.8}, {5U, 0.5}}) {
    const double a = std::ceil((n + 1) * level - 1e-9), b = n + 1 - a;
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < kTimes; ++i) {
      const double q =
          conformal_quantile(uniform_scores(n, Rng(n).split("calibration", i)), 1, level);
      mean += q / kTimes;
      square += q * q / kTimes;
    }

    const double variance = a * b / ((n + 1.0) * (n + 1.0) * (n + 2.0));
    EXPECT_NEAR(mean, a / (n + 1), 5 * std::sqrt(variance / kTimes)) << n;
    // The standard error of a variance is about sqrt(2 / 4,000) of it for what is near normal; beta
    // distributions this skew have at most three times that.
    EXPECT_NEAR(square - mean * mean, variance, 15 * variance * std::sqrt(2.0 / kTimes)) << n;
  }
}

// Numbers of trajectories within their bars leave coverage_range() once in 1,000 times at most: of
// 4,000 calibrations with as many judged, 4 or fewer are expected; more than 14 come once in 40,000
// (Poisson). Mutation: tails of 1 % each.
TEST(CoverageLaw, RangeIsRarelyLeft) {
  constexpr std::size_t kJudged = 60;
  const auto [least, most] = coverage_range(30, 0.9, kJudged);
  std::size_t left = 0;
  for (std::size_t i = 0; i < kTimes; ++i) {
    const Rng rng = Rng(7).split("calibration", i);
    const double q = conformal_quantile(uniform_scores(30, rng.split("calibrate")), 1, 0.9);
    std::size_t within = 0;
    for (const double score : uniform_scores(kJudged, rng.split("judge"))) within += score <= q;
    left += within < least || within > most;
  }

  EXPECT_LE(left, 14u);
  EXPECT_LT(least, kJudged * 9 / 10);
}

// Scores of a trajectory have much in common: a score drawn at random from a new trajectory is
// covered as often as was asked all the same, however many each has. Tolerance: five standard
// errors of 4,000 yes or no. Mutation: counting scores instead of trajectories, ceil((n each + 1)
// level) of all, which makes 14/16 = 0.875 for n = 15 where they are all the same.
TEST(CoverageLaw, HoldsForScoresOfATrajectoryThatBelongTogether) {
  constexpr std::size_t n = 15, kEach = 12;
  for (const double common : {0.0, 0.5, 1.0}) {
    std::size_t within = 0;
    for (std::size_t i = 0; i < kTimes; ++i) {
      const Rng rng = Rng(11).split("calibration", i);
      std::vector<double> scores;
      for (std::size_t t = 0; t <= n; ++t) {
        const Rng own = rng.split("trajectory", t);
        for (std::size_t s = 0; s < kEach; ++s)
          scores.push_back(common * own.uniform(0) + (1 - common) * own.uniform(1 + s));
      }
      const double next = scores[n * kEach + rng.below(0, kEach)];
      scores.resize(n * kEach);
      within += next <= conformal_quantile(scores, kEach, 0.9);
    }

    const double found = static_cast<double>(within) / kTimes;
    EXPECT_GE(found, 0.9 - 5 * std::sqrt(0.9 * 0.1 / kTimes)) << common;
    // (n + 1) 0.9 of n + 1 and at most one whole trajectory more.
    EXPECT_LE(found, 0.9 + 1.0 / (n + 1) + 5 * std::sqrt(0.9 * 0.1 / kTimes)) << common;
  }
}

}  // namespace
}  // namespace stap
