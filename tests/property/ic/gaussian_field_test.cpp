// The distribution of gaussian-field against formulas. All comparisons of this file together fail
// for a correct sampler with a probability below 1e-4 (support/sampling.h).
#include "stap/ic/gaussian_field.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "support/sampling.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::drawn;
using test::expect_mean;
using WaveVectors = GaussianFieldOptions::WaveVectors;

constexpr std::uint64_t kDraws = 4000;

GaussianFieldOptions spectrum(double amplitude, double shift, double exponent,
                              WaveVectors wave_vectors = WaveVectors::all) {
  GaussianFieldOptions options;
  options.amplitude = amplitude;
  options.shift = shift;
  options.exponent = exponent;
  options.wave_vectors = wave_vectors;
  return options;
}
double power(const GaussianFieldOptions& o, double square) {
  return std::pow(o.amplitude * std::pow(4 * pi * pi * square + o.shift, -o.exponent), 2);
}

// Mutation: channels with the draws of one another, or a first one that is not what it is alone.
TEST(GaussianField, ChannelsHaveDrawsOfTheirOwn) {
  const GaussianFieldOptions options = spectrum(25, 49, 1);
  const auto one = make_gaussian_field(options, make_grid(1, {6, 5}, {1.0, 1.0}));
  const auto two = make_gaussian_field(options, make_grid(2, {6, 5}, {1.0, 1.0}));
  std::vector<double> alone(30), both(60);

  one->draw(Rng(1), 3, alone);
  two->draw(Rng(1), 3, both);

  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), both.begin()));
  double product = 0, squares[2] = {};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    two->draw(Rng(2), i, both);
    product += both[0] * both[30];
    squares[0] += both[0] * both[0];
    squares[1] += both[30] * both[30];
  }
  // Of independent ones the correlation is 0 within five standard errors.
  EXPECT_LT(std::abs(product / std::sqrt(squares[0] * squares[1])), 5 / std::sqrt(kDraws * 1.0));
  EXPECT_NEAR(squares[0] / squares[1], 1.0, 0.2);
}

// All wave numbers: the wave vectors k and -k make the real mode |k| together, mean square 2 a_k^2.
// Half: one of them, a_k^2. Broken by: a factor 2 or its root, a spectrum to the wrong power,
// wave numbers off by one, a mean that is not 0.
TEST(GaussianField, PowerOfEveryModeOnAnInterval) {
  for (WaveVectors which : {WaveVectors::all, WaveVectors::half})
    for (std::size_t n : {15u, 16u}) {
      const GaussianFieldOptions options = spectrum(std::sqrt(2.0) * 25, 25, 1, which);
      const auto sampler = make_gaussian_field(options, make_grid(1, {n}, {3.0}));
      std::vector<double> expected{0.0};
      for (std::size_t k = 1; 2 * k < n; ++k)
        expected.push_back((which == WaveVectors::all ? 2 : 1) *
                           power(options, static_cast<double>(k * k)));

      test::expect_powers(*sampler, kDraws, expected);
    }
}

// Mode -N/2 has no partner: its mean square on the grid is a_k^2 for all, none for half.
TEST(GaussianField, NyquistModeCountsOnce) {
  for (WaveVectors which : {WaveVectors::all, WaveVectors::half}) {
    const GaussianFieldOptions options = spectrum(100, 49, 1, which);
    const auto sampler = make_gaussian_field(options, make_grid(1, {8}, {1.0}));
    std::vector<double> squares;
    for (std::uint64_t i = 0; i < kDraws; ++i)
      squares.push_back(std::norm(test::mode(drawn(*sampler, i), 4)));

    // Rounding of the other modes is all there is to half.
    if (which == WaveVectors::all)
      expect_mean(squares, power(options, 16.0), "Nyquist");
    else
      EXPECT_LT(*std::max_element(squares.begin(), squares.end()), 1e-28);
  }
}

// xi and eta are independent normal numbers of variance 1: real and imaginary part of a mode of
// `half` are a_k xi / 2 and a_k eta / 2, and a normal variable's fourth moment is 3. Broken by: one
// stream for both, uniform numbers, a conjugate.
TEST(GaussianField, CoefficientsAreNormal) {
  const GaussianFieldOptions options = spectrum(10, 25, 1, WaveVectors::half);
  const auto sampler = make_gaussian_field(options, make_grid(1, {16}, {1.0}));
  const double a = std::sqrt(power(options, 4.0));
  std::vector<double> xi, eta, xi2, eta2, xi4, product, products2;
  for (std::uint64_t i = 0; i < 4 * kDraws; ++i) {
    const std::complex<double> m = 2.0 / a * test::mode(drawn(*sampler, i), 2);
    xi.push_back(m.real());
    eta.push_back(m.imag());
    xi2.push_back(m.real() * m.real());
    eta2.push_back(m.imag() * m.imag());
    xi4.push_back(std::pow(m.real(), 4));
    product.push_back(m.real() * m.imag());
    products2.push_back(std::pow(m.real() * m.imag(), 2));
  }

  expect_mean(xi, 0, "xi");
  expect_mean(eta, 0, "eta");
  expect_mean(xi2, 1, "xi^2");
  expect_mean(eta2, 1, "eta^2");
  expect_mean(xi4, 3, "xi^4");
  expect_mean(product, 0, "xi eta");
  expect_mean(products2, 1, "(xi eta)^2");
}

// On a rectangle with two sizes, one odd: every point has mean 0 and variance sum a_k^2, and so has
// the power of every wave vector. Broken by: axes exchanged, |k|^2 of one axis only, k = 0 counted.
TEST(GaussianField, RectangleHasTheStatedSpectrum) {
  const std::size_t nx = 6, ny = 5;
  const GaussianFieldOptions options = spectrum(std::pow(7, 0.75), 49, 1.25);
  const auto sampler = make_gaussian_field(options, make_grid(1, {nx, ny}, {1.0, 2.0}));
  const auto signed_wave = [](std::size_t p, std::size_t n) {
    return static_cast<double>(p) - (2 * p >= n ? static_cast<double>(n) : 0.0);
  };
  const auto coefficient = [&](const std::vector<double>& u, std::size_t p, std::size_t q) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < nx; ++i)
      for (std::size_t j = 0; j < ny; ++j)
        sum += u[i * ny + j] * std::polar(1.0 / (nx * ny), -2 * pi *
                                                               (static_cast<double>(p * i) / nx +
                                                                static_cast<double>(q * j) / ny));
    return sum;
  };
  std::vector<double> values, squares;
  std::vector<std::vector<double>> powers(nx * ny);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> u = drawn(*sampler, i);
    values.push_back(u[7]);
    squares.push_back(u[7] * u[7]);
    for (std::size_t p = 0; p < nx; ++p)
      for (std::size_t q = 0; q < ny; ++q)
        powers[p * ny + q].push_back(std::norm(coefficient(u, p, q)));
  }

  double variance = 0;
  for (std::size_t p = 0; p < nx; ++p)
    for (std::size_t q = 0; q < ny; ++q) {
      const double kx = signed_wave(p, nx), ky = signed_wave(q, ny);
      const double own = p + q == 0 ? 0.0 : power(options, kx * kx + ky * ky);
      variance += own;
      // The transform of the real part is (c_k + conj c_{-k}) / 2, where -k is the wave vector with
      // the same values on the grid. Both have the mean square 2 a_k^2, and where k is its own -k
      // only the real part of c_k is seen: a_k^2 everywhere.
      expect_mean(powers[p * ny + q], own, std::to_string(p) + ", " + std::to_string(q));
    }
  expect_mean(values, 0.0, "mean");
  expect_mean(squares, variance, "variance");
}

// A finer grid has the same coefficients where both have them: with a spectrum that has fallen far
// at the coarse grid's end, the fields agree at common points. Broken by: counters of positions.
TEST(GaussianField, FinerGridsSampleTheSameFunction) {
  const GaussianFieldOptions options = spectrum(1e12, 49, 6);
  const auto coarse = make_gaussian_field(options, make_grid(1, {16, 8}, {1.0, 1.0}));
  const auto fine = make_gaussian_field(options, make_grid(1, {32, 32}, {1.0, 1.0}));
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::vector<double> a = drawn(*coarse, i), b = drawn(*fine, i);
    double size = 0, difference = 0;
    for (std::size_t x = 0; x < 16; ++x)
      for (std::size_t y = 0; y < 8; ++y) {
        size = std::max(size, std::abs(b[2 * x * 32 + 4 * y]));
        difference = std::max(difference, std::abs(a[x * 8 + y] - b[2 * x * 32 + 4 * y]));
      }

    EXPECT_LT(difference, 1e-4 * size);  // ((49 + (2 pi)^2) / (49 + (8 pi)^2))^6 = 5e-6 each
  }
}

// Broken by: a shared counter, keys made of positions.
TEST(GaussianField, StateDependsOnStreamAndIndexOnly) {
  test::expect_pure_draws(*make_gaussian_field({}, make_grid(1, {16}, {1.0})));
  test::expect_pure_draws(*make_gaussian_field({}, make_grid(1, {6, 8}, {1.0, 1.0})));
}

// The modes that two grids share are the same numbers if values lie at x = i dx on both. Broken by:
// cell centres (a phase that differs from grid to grid).
TEST(GaussianField, ValuesLieAtTheGridPoints) {
  const GaussianFieldOptions options = spectrum(10, 25, 1, WaveVectors::half);
  const auto coarse = make_gaussian_field(options, make_grid(1, {16}, {1.0}));
  const auto fine = make_gaussian_field(options, make_grid(1, {48}, {1.0}));

  const std::vector<double> a = drawn(*coarse, 0), b = drawn(*fine, 0);

  for (std::size_t k = 1; k < 8; ++k)
    EXPECT_LT(std::abs(test::mode(a, k) - test::mode(b, k)), 1e-14) << k;
}

}  // namespace
}  // namespace stap
