// The distribution of white-noise. All comparisons fail for a correct sampler with a probability
// below 1e-4.
#include "stap/ic/white_noise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stap {
namespace {

// Mean, variance and kurtosis of normal values, and no correlation with the next one, the next
// channel or the next state. Broken by: a uniform draw, a deviation squared, a counter that
// repeats.
TEST(WhiteNoise, ValuesAreNormalAndIndependent) {
  constexpr std::uint64_t kStates = 2000;
  const Grid grid = make_grid(2, {7, 5}, {1.0, 1.0});
  const auto sampler = make_white_noise({.deviation = 3.0}, grid);
  std::vector<double> all;
  for (std::uint64_t i = 0; i < kStates; ++i) {
    std::vector<double> state(grid.values());
    sampler->draw(Rng(4), i, state);
    all.insert(all.end(), state.begin(), state.end());
  }
  const double n = static_cast<double>(all.size()), five = 5 / std::sqrt(n);
  double sum = 0, squares = 0, fourth = 0, lags[3] = {};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double z = all[i] / 3.0;
    sum += z, squares += z * z, fourth += z * z * z * z;
    for (std::size_t l = 0; l < 3; ++l)
      lags[l] += z * all[(i + (l == 0 ? 1 : l == 1 ? 35 : 70)) % all.size()] / 3.0;
  }
  EXPECT_LT(std::abs(sum / n), five);
  EXPECT_LT(std::abs(squares / n - 1), five * std::sqrt(2.0));
  EXPECT_LT(std::abs(fourth / n - 3), five * std::sqrt(96.0));
  for (const double lag : lags) EXPECT_LT(std::abs(lag / n), five);
}

}  // namespace
}  // namespace stap
