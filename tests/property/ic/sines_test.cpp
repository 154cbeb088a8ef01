// The distribution of sines against formulas. All comparisons of this file together fail for a
// correct sampler with a probability below 2e-5 (support/sampling.h).
#include "stap/ic/sines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "support/sampling.h"

namespace stap {
namespace {

using test::drawn;
using test::expect_mean;
using test::expect_powers;

constexpr std::size_t kPoints = 32;
constexpr std::uint64_t kDraws = 20000;
const Grid kLine = make_grid(1, {kPoints}, {1.0});

// A term of amplitude A ~ U[0,1] has the power E[A^2]/2 = 1/6. Two terms, each wave number with
// probability 1/4: 1/12 in each of the modes 1 to 4, nothing elsewhere.
// Broken by: wave numbers 0..3 or 1..3, amplitudes in [-1,1] or fixed, one term more or less.
TEST(Sines, PowerOfEveryMode) {
  const double p = 1.0 / 12;
  expect_powers(*make_sines({}, kLine), kDraws, {0, p, p, p, p, 0, 0, 0, 0, 0});
}

// The KdV set-ups: 10 terms of amplitude U[0,1] and wave numbers 1..3, or U[-0.5,0.5] and 1..2.
// E[A^2]/2 is 1/6 and 1/24. Broken by: ignoring a range, or the number of terms.
TEST(Sines, PowerOfEveryModeOfOtherOptions) {
  SinesOptions printed, coded;
  printed.terms = coded.terms = 10;
  printed.max_wave_number = 3;
  coded.max_wave_number = 2;
  coded.amplitude_low = -0.5;
  coded.amplitude_high = 0.5;
  const double p = 10.0 / 3 / 6, c = 10.0 / 2 / 24;

  expect_powers(*make_sines(printed, kLine), kDraws, {0, p, p, p, 0});
  expect_powers(*make_sines(coded, kLine), kDraws, {0, c, c, 0});
}

// One term: |A| is 2 |mode|, and its distribution is that of the range. Broken by: low and high
// exchanged or added, a square root.
TEST(Sines, AmplitudesFillTheirRange) {
  SinesOptions options;
  options.terms = 1;
  options.max_wave_number = 1;
  options.amplitude_low = 0.5;
  options.amplitude_high = 2.0;
  const auto sampler = make_sines(options, kLine);
  std::vector<double> amplitudes, squares;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    amplitudes.push_back(2 * std::abs(test::mode(drawn(*sampler, i), 1)));
    squares.push_back(amplitudes.back() * amplitudes.back());
  }

  const auto [least, most] = std::minmax_element(amplitudes.begin(), amplitudes.end());
  EXPECT_GE(*least, 0.5 - 1e-12);
  EXPECT_LE(*most, 2.0 + 1e-12);
  // The ends are reached: (1 - 0.001)^20000 = 2e-9.
  EXPECT_LT(*least, 0.5 + 0.0015);
  EXPECT_GT(*most, 2.0 - 0.0015);
  expect_mean(amplitudes, 1.25, "mean amplitude");
  expect_mean(squares, (8.0 - 0.125) / 3 / 1.5, "mean square amplitude");
}

// One term: the mode's angle is uniform on the circle. Counts in 16 sectors; chi-square with 15
// degrees of freedom passes 58.5 with probability 4e-7. Broken by: phases in [0, pi], or in
// degrees.
TEST(Sines, PhasesAreUniform) {
  SinesOptions options;
  options.terms = 1;
  const auto sampler = make_sines(options, kLine);
  const std::size_t sectors = 16;
  std::vector<double> count(sectors, 0.0);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> u = drawn(*sampler, i);
    std::complex<double> largest = 0;
    for (std::size_t k = 1; k <= 4; ++k)
      if (const auto m = test::mode(u, k); std::abs(m) > std::abs(largest)) largest = m;
    const double turns = std::arg(largest) / (2 * std::numbers::pi) + 0.5;
    ++count[std::min(sectors - 1, static_cast<std::size_t>(turns * sectors))];
  }

  double chi_square = 0;
  const double expected = static_cast<double>(kDraws) / sectors;
  for (double c : count) chi_square += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi_square, 58.5);
}

// Random phases make every point alike: mean 0, mean square 1/3.
TEST(Sines, PointsAreAlike) {
  const auto sampler = make_sines({}, kLine);
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

// Broken by: a shared counter, keys made of positions.
TEST(Sines, StateDependsOnStreamAndIndexOnly) {
  test::expect_pure_draws(*make_sines({}, kLine));
}

// Neighbours in i are no more alike than any two: the correlation of u at one point vanishes.
// Broken by: a key that mixes i badly.
TEST(Sines, NeighboursAreUncorrelated) {
  const auto sampler = make_sines({}, kLine);
  std::vector<double> products;
  for (std::uint64_t i = 0; i + 1 < kDraws; i += 2)
    products.push_back(drawn(*sampler, i)[3] * drawn(*sampler, i + 1)[3]);

  expect_mean(products, 0.0, "product of neighbours");
}

// |u| <= number of terms x amplitude. Broken by: an amplitude above the stated one.
TEST(Sines, ValuesAreBounded) {
  SinesOptions options;
  options.terms = 3;
  options.amplitude_high = 0.5;
  const auto sampler = make_sines(options, kLine);
  double largest = 0;
  for (std::uint64_t i = 0; i < 5000; ++i)
    for (double value : drawn(*sampler, i)) largest = std::max(largest, std::abs(value));

  EXPECT_LE(largest, 1.5);
  EXPECT_GT(largest, 1.2);
}

}  // namespace
}  // namespace stap
