#include "stap/results/parameter_analysis.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stap/results/run_result.h"

namespace stap {
namespace {

using Kind = ParameterDraw::Kind;
using Counts = std::vector<std::size_t>;

// 16 in eight equal steps of the logarithm: each edge is the root of 2 times the one before.
TEST(ParameterBins, AreEqualInTheScaleOfTheDraw) {
  const ParameterBins log({"nu", Kind::log, {0.01, 0.16}});
  const ParameterBins uniform({"lid", Kind::uniform, {-1.0, 3.0}});

  ASSERT_EQ(log.count(), 8u);
  for (std::size_t i = 0; i <= 8; ++i)
    EXPECT_NEAR(log.edges[i], 0.01 * std::pow(2.0, 0.5 * static_cast<double>(i)), 1e-15);
  EXPECT_NEAR(log.middle(0), 0.01 * std::pow(2.0, 0.25), 1e-15);
  EXPECT_EQ(log.bin_of(0.01), 0u);
  EXPECT_EQ(log.bin_of(0.0142), 1u);
  EXPECT_EQ(log.bin_of(0.16), 7u);
  EXPECT_EQ(log.bin_of(1.0), 7u);
  EXPECT_EQ(log.bin_of(1e-9), 0u);
  ASSERT_EQ(uniform.count(), 8u);
  EXPECT_EQ(uniform.edges[3], 0.5);
  EXPECT_EQ(uniform.bin_of(0.5), 3u);  // an edge begins its part
  EXPECT_EQ(uniform.middle(7), 2.75);
  EXPECT_EQ(uniform.text(0), "-1 to -0.5");
}

TEST(ParameterBins, OfAListAreItsValues) {
  const ParameterBins list({"k", Kind::list, {4.0, 1.0, 2.0, 1.0}});

  EXPECT_EQ(list.edges, (std::vector{1.0, 2.0, 4.0}));
  EXPECT_EQ(list.count(), 3u);
  EXPECT_EQ(list.bin_of(2.0), 1u);
  EXPECT_EQ(list.bin_of(3.9), 2u);
  EXPECT_EQ(list.text(2), "4");
}

// Two parameters, of which one is looked at by its second column. Mutation: the initial
// trajectories counted, a candidate counted for each of its steps, columns mixed up.
TEST(ParameterAnalysis, CountsWhatIsThereAndWhatWasBought) {
  const std::vector<ParameterDraw> draws{{"lid", Kind::uniform, {0.0, 8.0}},
                                         {"k", Kind::list, {1.0, 2.0}}};
  const std::vector<std::string> names{"lid", "k"};
  ParameterRows rows;
  rows.test = {names, {0.5, 1, 0.7, 2, 7.5, 1}};
  rows.test_rmse = {1.0, 3.0, 8.0};
  rows.pool = {names, {0.1, 1, 4.5, 2, 4.6, 2, 7.9, 2}};
  TransitionSet set;
  set.origins = {{0, 0, 0}, {1, 1, 0}, {1, 1, 4}, {1, 2, 0}, {2, 1, 3}};
  set.parameters = {names, {0.1, 1, 4.5, 2, 4.5, 2, 4.6, 2, 4.5, 2}};

  const auto all = analyse_parameters(draws, rows, set, 2);

  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].test, (Counts{2, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(all[0].rmse[0], 2.0);
  EXPECT_TRUE(std::isnan(all[0].rmse[1]));
  EXPECT_EQ(all[0].rmse[7], 8.0);
  EXPECT_EQ(all[0].pool, (Counts{1, 0, 0, 0, 2, 0, 0, 1}));
  EXPECT_EQ(all[0].chosen, (Counts{0, 0, 0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(all[0].steps, (Counts{0, 0, 0, 0, 8, 0, 0, 0}));
  EXPECT_EQ(all[1].test, (Counts{2, 1}));
  EXPECT_EQ(all[1].rmse, (std::vector{4.5, 3.0}));
  EXPECT_EQ(all[1].pool, (Counts{1, 3}));
  EXPECT_EQ(all[1].chosen, (Counts{0, 3}));
}

TEST(ParameterAnalysis, OfRunsTogetherAddsCountsAndAveragesLogarithms) {
  const ParameterDraw draw{"k", Kind::list, {1.0, 2.0}};
  const auto run = [&](std::vector<double> rmse, Counts chosen) {
    ParameterAnalysis one{.bins = ParameterBins(draw)};
    one.test = {3, 4};
    one.pool = {10, 20};
    one.rmse = std::move(rmse);
    one.chosen = one.steps = std::move(chosen);
    return std::vector{one};
  };
  const auto a = run({1.0, 2.0}, {1, 5}), b = run({4.0, 8.0}, {2, 0});

  const auto both = together({&a, &b});

  ASSERT_EQ(both.size(), 1u);
  EXPECT_NEAR(both[0].rmse[0], 2.0, 1e-15);
  EXPECT_NEAR(both[0].rmse[1], 4.0, 1e-15);
  EXPECT_EQ(both[0].test, (Counts{3, 4}));
  EXPECT_EQ(both[0].pool, (Counts{20, 40}));
  EXPECT_EQ(both[0].chosen, (Counts{3, 5}));
  auto other = a;
  other[0].bins = ParameterBins({"k", Kind::list, {1.0, 3.0}});
  EXPECT_TRUE(together({&a, &other}).empty());
  EXPECT_TRUE(together({}).empty());
}

}  // namespace
}  // namespace stap
