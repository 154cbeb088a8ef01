// The distributions of the Burgers samplers against formulas. Statistics are compared at five
// standard errors: one comparison of a correct sampler fails with probability 6e-7, all of this
// file together with less than 2e-5 (and the streams are fixed, so it does so always or never).
#include "stap/ic/burgers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace stap {
namespace {

using std::numbers::pi;

constexpr std::size_t kPoints = 32;
constexpr std::uint64_t kDraws = 20000;
const Grid kLine = make_grid(1, {kPoints}, {1.0});

std::vector<double> drawn(const Sampler& sampler, std::uint64_t i, std::uint64_t seed = 0) {
  std::vector<double> state(sampler.grid().values());
  sampler.draw(Rng(seed), i, state);
  return state;
}

// Mean and its standard error.
struct Estimate {
  double mean = 0, error = 0;
};
Estimate estimate(const std::vector<double>& samples) {
  const double n = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (double s : samples) sum += s;
  for (double s : samples) squares += (s - sum / n) * (s - sum / n);
  return {sum / n, std::sqrt(squares / n / n)};
}
void expect_mean(const std::vector<double>& samples, double expected, const std::string& what) {
  const Estimate e = estimate(samples);
  EXPECT_NEAR(e.mean, expected, 5 * e.error + 1e-15) << what;
}
void expect_share(std::size_t hits, std::size_t trials, double probability,
                  const std::string& what) {
  const double n = static_cast<double>(trials);
  EXPECT_NEAR(static_cast<double>(hits) / n, probability,
              5 * std::sqrt(probability * (1 - probability) / n))
      << what;
}

// Mean over the grid of the square of Fourier mode m's part of the state.
double mode_power(const std::vector<double>& u, std::size_t m) {
  double re = 0, im = 0;
  const double n = static_cast<double>(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double angle = 2 * pi * static_cast<double>(m * i % u.size()) / n;
    re += u[i] * std::cos(angle) / n;
    im += u[i] * std::sin(angle) / n;
  }
  return (m == 0 ? 1 : 2) * (re * re + im * im);
}

// For modes 0 .. 9: the mean over draws of their power.
void expect_powers(const Sampler& sampler, const std::vector<double>& expected) {
  std::vector<std::vector<double>> power(expected.size());
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> u = drawn(sampler, i);
    for (std::size_t m = 0; m < expected.size(); ++m) power[m].push_back(mode_power(u, m));
  }
  for (std::size_t m = 0; m < expected.size(); ++m)
    expect_mean(power[m], expected[m], "mode " + std::to_string(m));
}

// A term of amplitude A ~ U[0,1] has the power E[A^2]/2 = 1/6. Two terms, each wave number with
// probability 1/4: 1/12 in each of the modes 1 to 4, nothing elsewhere.
// Broken by: wave numbers 0..3 or 1..3, amplitudes in [-1,1] or fixed, one term more or less.
TEST(BurgersPaper, PowerOfEveryMode) {
  const double p = 1.0 / 12;
  expect_powers(*make_burgers_paper({}, kLine), {0, p, p, p, p, 0, 0, 0, 0, 0});
}

// Random phases make every point alike: mean 0, mean square 1/3. Broken by: phases in [0, pi].
TEST(BurgersPaper, PointsAreAlike) {
  const auto sampler = make_burgers_paper({}, kLine);
  std::vector<double> first, squares, products;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> u = drawn(*sampler, i);
    first.push_back(u[0]);
    squares.push_back(u[0] * u[0]);
    products.push_back(u[0] * u[kPoints / 2]);
  }

  expect_mean(first, 0.0, "mean");
  expect_mean(squares, 1.0 / 3, "mean square");
  // Half a period away: odd wave numbers change sign, even ones do not, and they are equally many.
  expect_mean(products, 0.0, "correlation");
}

// Four terms of power 1/6. Term k has wave number 0 with probability 9/16 (never drawn), k with 3/8
// (drawn once) and 2k with 1/16 (drawn twice). The constants' power is 4 x 9/16 x 1/6 = 3/8.
// Broken by: draws without replacement, a double draw that counts once, "off" terms left out.
TEST(BurgersAsCoded, PowerOfEveryMode) {
  BurgersAsCodedOptions options;
  options.absolute_probability = 0;
  options.window_probability = 0;
  const double once = 3.0 / 8 / 6, twice = 1.0 / 16 / 6;

  expect_powers(*make_burgers_as_coded(options, kLine),
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
TEST(BurgersSamplers, StateDependsOnStreamAndIndexOnly) {
  const auto paper = make_burgers_paper({}, kLine);
  const auto coded = make_burgers_as_coded({}, kLine);
  const Sampler* const samplers[] = {paper.get(), coded.get()};
  const std::uint64_t forth[] = {0, 1, 2, 1000000000000}, back[] = {1000000000000, 2, 1, 0};
  for (const Sampler* sampler : samplers) {
    const States<double> a = draw_states(*sampler, Rng(3), forth);
    const States<double> b = draw_states(*sampler, Rng(3), back);

    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(std::equal(a.row(i).begin(), a.row(i).end(), b.row(3 - i).begin()));
      EXPECT_NE(drawn(*sampler, forth[i], 3), drawn(*sampler, forth[i], 4));
      EXPECT_NE(drawn(*sampler, forth[i], 3), drawn(*sampler, forth[i] + 1, 3));
    }
  }
}

// Neighbours in i are no more alike than any two: the correlation of u at one point vanishes.
// Broken by: a key that mixes i badly.
TEST(BurgersSamplers, NeighboursAreUncorrelated) {
  const auto sampler = make_burgers_paper({}, kLine);
  std::vector<double> products;
  for (std::uint64_t i = 0; i + 1 < kDraws; i += 2)
    products.push_back(drawn(*sampler, i)[3] * drawn(*sampler, i + 1)[3]);

  expect_mean(products, 0.0, "product of neighbours");
}

// A state is a function on the interval: three times as many cells have the same values at the
// cell centres both grids share. Broken by: a coordinate at the cells' left ends, an index for x.
TEST(BurgersSamplers, FinerGridsSampleTheSameFunction) {
  const Grid fine = make_grid(1, {3 * kPoints}, {1.0});
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::vector<double> a = drawn(*make_burgers_as_coded({}, kLine), i);
    const std::vector<double> b = drawn(*make_burgers_as_coded({}, fine), i);
    // Rounding of x, 1e-16, times slopes of up to 100.
    for (std::size_t j = 0; j < kPoints; ++j) EXPECT_NEAR(a[j], b[3 * j + 1], 1e-12);
  }
}

// |u| <= number of terms x amplitude. Broken by: an amplitude above the stated one.
TEST(BurgersSamplers, ValuesAreBounded) {
  BurgersPaperOptions options;
  options.terms = 3;
  options.amplitude = 0.5;
  const auto sampler = make_burgers_paper(options, kLine);
  double largest = 0;
  for (std::uint64_t i = 0; i < 5000; ++i)
    for (double value : drawn(*sampler, i)) largest = std::max(largest, std::abs(value));

  EXPECT_LE(largest, 1.5);
  EXPECT_GT(largest, 1.2);
}

}  // namespace
}  // namespace stap
