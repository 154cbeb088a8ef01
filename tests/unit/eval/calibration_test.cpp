#include "stap/eval/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stap/core/error.h"
#include "stap/eval/activations.h"
#include "stap/eval/statistics.h"
#include "support/fake_committee.h"
#include "support/function_committee.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::FunctionCommittee;

FunctionCommittee::Function plus(float shift) {
  return [shift](float value, double) { return value + shift; };
}

// Members that add 1 and 3, truth that stands still at 0, two points: after step i they are at i
// and 3 i, their mean at 2 i, each i away from it.
TEST(Calibration, SpreadAndErrorsByHand) {
  const States<float> truth(make_grid(1, {2}, {1.0}), 2 * 3);
  FunctionCommittee committee(truth.grid(), {plus(1), plus(3)});

  const Calibration c = calibrate(committee, {truth.view(), 3}, 1);

  EXPECT_EQ(c.trajectories, 2u);
  EXPECT_EQ(c.steps, 2u);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 2; ++i) {
      const double step = static_cast<double>(i + 1);
      EXPECT_DOUBLE_EQ(c.spread[b * 2 + i], step);
      EXPECT_DOUBLE_EQ(c.mean_error[b * 2 + i], 2 * step);
      EXPECT_DOUBLE_EQ(c.member_error[b * 2 + i], std::sqrt(5.0) * step);
    }
  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

// Mutations that would break it: an error against another step's or trajectory's truth, a block
// that counts twice, channels averaged instead of summed.
TEST(Calibration, ErrorsAddUpAndBlocksDoNotShow) {
  const Grid grid = make_grid(2, {4}, {1.0});
  const States<float> truth = test::random_states(grid, 5 * 4, Rng(3));
  test::FakeCommittee committee(grid, test::linear_members(3, grid.values(), Rng(4)));

  const Calibration c = calibrate(committee, {truth.view(), 4}, 64);
  const Calibration cut = calibrate(committee, {truth.view(), 4}, 2);

  EXPECT_EQ(c.spread, cut.spread);
  EXPECT_EQ(c.member_error, cut.member_error);
  for (std::size_t i = 0; i < c.spread.size(); ++i)
    EXPECT_NEAR(c.member_error[i] * c.member_error[i],
                c.spread[i] * c.spread[i] + c.mean_error[i] * c.mean_error[i],
                1e-12 * c.member_error[i] * c.member_error[i]);  // rounding of sums of 8 terms
  // The first step of trajectory 2 from its own first state.
  const auto start = truth.row(2 * 4), after = truth.row(2 * 4 + 1);
  double sum = 0;
  for (int m = 0; m < 3; ++m) {
    const auto u = committee.apply(m, {start.begin(), start.end()}, 0.0);
    for (std::size_t v = 0; v < u.size(); ++v)
      sum += std::pow(double{u[v]} - double{after[v]}, 2) / 3;
  }
  EXPECT_NEAR(c.member_error[2 * 3], std::sqrt(sum / 4), 1e-12);
}

// Members on clusters of two states: what they add is seen at single steps.
TEST(Calibration, ClustersOfStates) {
  const States<float> truth(make_grid(1, {3}, {1.0}), 6);
  FunctionCommittee committee(make_grid(2, {3}, {1.0}), {plus(1), plus(3)});

  const Calibration c = calibrate(committee, {truth.view(), 6});

  EXPECT_EQ(c.steps, 4u);
  EXPECT_EQ(c.spread, (std::vector<double>{1, 1, 2, 2}));
  EXPECT_EQ(c.mean_error, (std::vector<double>{2, 2, 4, 4}));
  EXPECT_THROW(calibrate(committee, {truth.view(), 3}), Error);
}

TEST(Calibration, WhatDivergesStaysSoAndIsCounted) {
  const States<float> truth(make_grid(1, {1}, {1.0}), 4);
  const auto jump = [](float value, double time) {
    if (time == 0.0) return value;
    return time < 0.5 ? std::numeric_limits<float>::infinity() : 1.0f;  // and comes back
  };
  FunctionCommittee committee(truth.grid(), {plus(1), jump}, 3);

  const Calibration c = calibrate(committee, {truth.view(), 4});

  EXPECT_TRUE(std::isfinite(c.spread[0]));
  EXPECT_TRUE(std::isinf(c.spread[1]) && std::isinf(c.mean_error[2]));
  EXPECT_EQ(diverged(c), 2u);
  EXPECT_EQ(quantile_bins(c, 20).size(), 1u);
  EXPECT_TRUE(std::isnan(rank_correlations(c, c.mean_error).overall));
}

TEST(Calibration, BinsHoldEquallyManyInTheOrderOfTheSpread) {
  const Calibration c{.trajectories = 5,
                      .steps = 1,
                      .spread = {5, 1, 4, 2, 3},
                      .mean_error = {50, 10, 40, 20, 30},
                      .member_error = {6, 2, 5, 3, 4}};

  const auto bins = quantile_bins(c, 2);

  ASSERT_EQ(bins.size(), 2u);
  EXPECT_EQ(bins[0].count, 2u);
  EXPECT_EQ(bins[1].count, 3u);
  EXPECT_DOUBLE_EQ(bins[0].spread, 1.5);
  EXPECT_DOUBLE_EQ(bins[0].mean_error, 15);
  EXPECT_DOUBLE_EQ(bins[1].spread, 4);
  EXPECT_DOUBLE_EQ(bins[1].member_error, 5);
  EXPECT_EQ(quantile_bins(c, 20).size(), 5u);
}

TEST(Calibration, CorrelationsOverallAndByStep) {
  const Calibration c{.trajectories = 3,
                      .steps = 2,
                      .spread = {1, 10, 2, 20, 3, 30},
                      .mean_error = {1, 9, 2, 8, 3, 7},
                      .member_error = {}};

  const RankCorrelations r = rank_correlations(c, c.mean_error);

  EXPECT_DOUBLE_EQ(r.by_step[0], 1.0);
  EXPECT_DOUBLE_EQ(r.by_step[1], -1.0);
  // Ranks 0 1 2 3 4 5 against 0 1 2 5 4 3: 1 - 6 * (4 + 0 + 4) / (6 * 35).
  EXPECT_NEAR(r.overall, 1.0 - 48.0 / 210.0, 1e-14);
}

// Spearman by hand: distinct values by 1 - 6 sum d^2 / (n (n^2 - 1)); with a tie, ranks (0.5, 0.5,
// 2) and (0, 1, 2) give 1.5 / sqrt(1.5 * 2).
TEST(RankCorrelation, ByHand) {
  EXPECT_NEAR(rank_correlation(std::vector<double>{3, 1, 2, 4}, std::vector<double>{9, 7, 8, -1}),
              1.0 - 6.0 * (1 + 1 + 1 + 9) / (4.0 * 15.0), 1e-14);
  EXPECT_NEAR(rank_correlation(std::vector<double>{1, 1, 5}, std::vector<double>{1, 2, 3}),
              1.5 / std::sqrt(3.0), 1e-14);
  EXPECT_TRUE(std::isnan(rank_correlation(std::vector<double>{1}, std::vector<double>{2})));
  EXPECT_TRUE(std::isnan(rank_correlation(std::vector<double>{1, 1}, std::vector<double>{2, 3})));
}

// The fake committee's sketch of a step puts value v of member m's result into coordinate
// 97 m + 13 step + v: every state must go through the map of step 1, with its own time.
TEST(Activations, EveryStateGoesThroughTheSameMap) {
  const Grid grid = make_grid(1, {4}, {1.0});
  const States<float> states = test::random_states(grid, 300, Rng(9));
  test::FakeCommittee committee(grid, test::linear_members(2, 4, Rng(10)), 7);
  std::vector<std::uint32_t> steps;
  for (std::uint32_t i = 0; i < 300; ++i) steps.push_back(i % 7);

  const auto features = sketched_states(committee, states.view(), {steps});

  ASSERT_EQ(features.size(), 300 * kSketchSize);
  for (const std::size_t i : {0u, 5u, 255u, 256u, 299u})
    for (int m = 0; m < 2; ++m) {
      const auto row = states.row(i);
      const auto expected = committee.apply(m, {row.begin(), row.end()}, steps[i] / 7.0);
      for (std::size_t v = 0; v < 4; ++v)
        EXPECT_EQ(features[i * kSketchSize + static_cast<std::size_t>(m) * 97 + 13 + v],
                  double{expected[v]});
    }
  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

}  // namespace
}  // namespace stap
