#pragma once

// Statistics of samplers against formulas. Means are compared at five standard errors: one
// comparison of a correct sampler fails with probability 6e-7 (and the streams are fixed, so it
// does so always or never).

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "stap/ic/sampler.h"
#include "support/modes.h"

namespace stap::test {

inline std::vector<double> drawn(const Sampler& sampler, std::uint64_t i, std::uint64_t seed = 0) {
  std::vector<double> state(sampler.grid().values());
  sampler.draw(Rng(seed), i, state);
  return state;
}

inline void expect_mean(const std::vector<double>& samples, double expected,
                        const std::string& what) {
  const double n = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (double s : samples) sum += s;
  for (double s : samples) squares += (s - sum / n) * (s - sum / n);
  EXPECT_NEAR(sum / n, expected, 5 * std::sqrt(squares / n / n) + 1e-15) << what;
}

inline void expect_share(std::size_t hits, std::size_t trials, double probability,
                         const std::string& what) {
  const double n = static_cast<double>(trials);
  EXPECT_NEAR(static_cast<double>(hits) / n, probability,
              5 * std::sqrt(probability * (1 - probability) / n))
      << what;
}

/// Mean over the grid of the square of Fourier mode m's part of the state, 0 <= m < N/2.
inline double mode_power(const std::vector<double>& u, std::size_t m) {
  return (m == 0 ? 1 : 2) * std::norm(mode(u, m));
}

/// For modes 0, 1, ...: the mean over draws of their power.
inline void expect_powers(const Sampler& sampler, std::uint64_t draws,
                          const std::vector<double>& expected) {
  std::vector<std::vector<double>> power(expected.size());
  for (std::uint64_t i = 0; i < draws; ++i) {
    const std::vector<double> u = drawn(sampler, i);
    for (std::size_t m = 0; m < expected.size(); ++m) power[m].push_back(mode_power(u, m));
  }
  for (std::size_t m = 0; m < expected.size(); ++m)
    expect_mean(power[m], expected[m], "mode " + std::to_string(m));
}

/// The states of a stream do not depend on the order in which they are drawn, nor on each other.
inline void expect_pure_draws(const Sampler& sampler) {
  const std::uint64_t forth[] = {0, 1, 2, 1000000000000}, back[] = {1000000000000, 2, 1, 0};

  std::vector<std::vector<double>> a, b;
  for (const std::uint64_t i : forth) a.push_back(drawn(sampler, i, 3));
  for (const std::uint64_t i : back) b.push_back(drawn(sampler, i, 3));

  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(a[i], b[3 - i]);
    EXPECT_NE(drawn(sampler, forth[i], 3), drawn(sampler, forth[i], 4));
    EXPECT_NE(drawn(sampler, forth[i], 3), drawn(sampler, forth[i] + 1, 3));
  }
}

}  // namespace stap::test
