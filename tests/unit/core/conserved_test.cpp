#include "stap/core/conserved.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace stap {
namespace {

using State = std::vector<double>;

// Two channels of four points; by hand.
const Grid kTwoChannels = make_grid(2, {4}, {1.0});

TEST(MeanChange, IsAShareOfWhatStepsChangeInTheChannel) {
  const State from = {1, 2, 3, 4, 1, 1, 1, 5}, to = {2, 1, 4, 3, 1, 1, 1, 7};

  const MeanChange first = mean_change(kTwoChannels, from, to, 0),
                   second = mean_change(kTwoChannels, from, to, 1);

  EXPECT_EQ(first.share, 0.0);                               // 1 - 1 + 1 - 1
  EXPECT_DOUBLE_EQ(second.share, 0.5 / std::sqrt(4 / 4.0));  // 2 at one of four points
  EXPECT_TRUE(first.told && second.told);
}

// Means of 0.5 and -0.5 over two states do not cancel. Breaks if they are averaged.
TEST(MeanChange, OfSeveralStepsIsARootOfMeanSquares) {
  const State from = {1, 1, 1, 5, 0, 0, 0, 0, 1, 1, 1, 5, 0, 0, 0, 0},
              to = {1, 1, 1, 7, 0, 0, 0, 0, 1, 1, 1, 3, 0, 0, 0, 0};

  EXPECT_DOUBLE_EQ(mean_change(kTwoChannels, from, to, 0).share, 0.5);
}

TEST(MeanChange, TellsNothingOfZeroOrOfWhatStays) {
  const State balanced = {1, -1, 2, -2, 3, 3, 3, 3}, decayed = {0.9, -0.9, 1.8, -1.8, 3, 3, 3, 3};

  const MeanChange zero = mean_change(kTwoChannels, balanced, decayed, 0);
  const MeanChange same = mean_change(kTwoChannels, balanced, decayed, 1);

  EXPECT_EQ(zero.share, 0.0);
  EXPECT_FALSE(zero.told);
  EXPECT_EQ(same.share, 0.0);
  EXPECT_FALSE(same.told);
}

// A large mean is rounded in single precision: by 0.01 of 1e5, which is a tenth of the change here.
TEST(MeanChange, IsNothingBelowSinglePrecision) {
  const State from = {1e5 + 1, 1e5 - 1, 1e5, 1e5, 0, 0, 0, 0},
              to = {1e5 + 1.11, 1e5 - 1.09, 1e5 + 0.11, 1e5 - 0.09, 0, 0, 0, 0},
              leaks = {1e5 + 2, 1e5, 1e5 + 1, 1e5 + 1, 0, 0, 0, 0};

  EXPECT_EQ(mean_change(kTwoChannels, from, to, 0).share, 0.0);
  EXPECT_DOUBLE_EQ(mean_change(kTwoChannels, from, leaks, 0).share, 1.0);
}

}  // namespace
}  // namespace stap
