// The distribution of burgers-as-coded against formulas. All comparisons of this file together fail
// for a correct sampler with a probability below 1e-5 (support/sampling.h).
#include "stap/ic/burgers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/sampling.h"

namespace stap {
namespace {

using test::drawn;
using test::expect_mean;
using test::expect_powers;
using test::expect_share;

constexpr std::size_t kPoints = 32;
constexpr std::uint64_t kDraws = 20000;
const Grid kLine = make_grid(1, {kPoints}, {1.0});

// Four terms of power 1/6. Term k has wave number 0 with probability 9/16 (never drawn), k with 3/8
// (drawn once) and 2k with 1/16 (drawn twice). The constants' power is 4 x 9/16 x 1/6 = 3/8.
// Broken by: draws without replacement, a double draw that counts once, "off" terms left out.
TEST(BurgersAsCoded, PowerOfEveryMode) {
  BurgersAsCodedOptions options;
  options.absolute_probability = 0;
  options.window_probability = 0;
  const double once = 3.0 / 8 / 6, twice = 1.0 / 16 / 6;

  expect_powers(*make_burgers_as_coded(options, kLine), kDraws,
                {3.0 / 8, once, once + twice, once, once + twice, 0, twice, 0, twice, 0});
}

// The absolute value comes last: no such state is negative anywhere. Broken by: a sign behind it.
TEST(BurgersAsCoded, AbsoluteValuesAreNotNegative) {
  BurgersAsCodedOptions options;
  options.absolute_probability = 1;
  const auto sampler = make_burgers_as_coded(options, kLine);
  for (std::uint64_t i = 0; i < 500; ++i)
    for (double value : drawn(*sampler, i)) EXPECT_GE(value, 0.0);
}

// Broken by: another probability, one draw shared with the window's.
TEST(BurgersAsCoded, AbsoluteValueAndWindowHappenOnceInTenEachIndependently) {
  BurgersAsCodedOptions plain_options;
  plain_options.absolute_probability = 0;
  plain_options.window_probability = 0;
  const auto plain = make_burgers_as_coded(plain_options, kLine);
  const auto sampler = make_burgers_as_coded({}, kLine);
  std::size_t visible = 0, absolute = 0, windowed = 0, both = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> before = drawn(*plain, i), after = drawn(*sampler, i);
    // The same streams without either step: what has changed in the middle (where a window is 1)
    // is the sign, what has changed at the ends is the window.
    const bool negative = before[kPoints / 2] < 0;
    const bool changed = (before[kPoints / 2] < 0) != (after[kPoints / 2] < 0);
    const bool cut = std::abs(after[0]) < 0.5 * std::abs(before[0]);
    windowed += cut ? 1 : 0;
    if (!negative) continue;
    ++visible;
    absolute += changed ? 1 : 0;
    both += changed && cut ? 1 : 0;
  }

  ASSERT_GT(visible, kDraws / 3);
  expect_share(windowed, kDraws, 0.1, "windowed");
  expect_share(absolute, visible, 0.1, "absolute");
  expect_share(both, visible, 0.01, "both");
}

// Edges at U[0.1, 0.45] and U[0.55, 0.9], width 0.01: means 0.275 and 0.725.
// Broken by: another range, a width of 0.1 (the middle would not be 1), a window upside down.
TEST(BurgersAsCoded, WindowHasTheStatedEdges) {
  const Grid fine = make_grid(1, {1000}, {3.0});  // fractions of the length, whatever that is
  BurgersAsCodedOptions options;
  options.absolute_probability = 0;
  options.window_probability = 0;
  const auto plain = make_burgers_as_coded(options, fine);
  options.window_probability = 1;
  const auto windowed = make_burgers_as_coded(options, fine);
  std::vector<double> left, right;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::vector<double> before = drawn(*plain, i), after = drawn(*windowed, i);
    std::vector<double> window(1000);
    for (std::size_t j = 0; j < 1000; ++j) window[j] = after[j] / before[j];
    const auto middle = window.begin() + 500;
    const auto rise = std::lower_bound(window.begin(), middle, 0.5);
    const auto fall = std::lower_bound(middle, window.end(), 0.5, std::greater<>());

    left.push_back(static_cast<double>(rise - window.begin()) / 1000);
    right.push_back(static_cast<double>(fall - window.begin()) / 1000);
    EXPECT_NEAR(*middle, 1.0, 1e-3);  // (1 + tanh 5)/2, twice
    EXPECT_LT(window.front(), 1e-6);  // tanh((0 - 0.1)/0.01) = -1 + 4e-9
    EXPECT_LT(window.back(), 1e-6);
  }

  const auto [lowest, highest] = std::minmax_element(left.begin(), left.end());
  EXPECT_GE(*lowest, 0.1 - 1e-3);
  EXPECT_LE(*highest, 0.45 + 1e-3);
  // Counting cells puts an edge up to one cell, 0.001, off; half of it on average.
  expect_mean(left, 0.275, "left edge");
  expect_mean(right, 0.725, "right edge");
}

// Broken by: a shared counter, keys made of positions.
TEST(BurgersAsCoded, StateDependsOnStreamAndIndexOnly) {
  test::expect_pure_draws(*make_burgers_as_coded({}, kLine));
}

// A state is a function on the interval: three times as many cells have the same values at the
// cell centres both grids share. Broken by: a coordinate at the cells' left ends, an index for x.
TEST(BurgersAsCoded, FinerGridsSampleTheSameFunction) {
  const Grid fine = make_grid(1, {3 * kPoints}, {1.0});
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::vector<double> a = drawn(*make_burgers_as_coded({}, kLine), i);
    const std::vector<double> b = drawn(*make_burgers_as_coded({}, fine), i);
    // Rounding of x, 1e-16, times slopes of up to 100.
    for (std::size_t j = 0; j < kPoints; ++j) EXPECT_NEAR(a[j], b[3 * j + 1], 1e-12);
  }
}

}  // namespace
}  // namespace stap
