#include "nn/cpu/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "stap/core/rng.h"
#include "support/isas.h"

namespace stap::cpu {
namespace {

class KernelsOf : public testing::TestWithParam<Isa> {
 protected:
  const Kernels& k = kernels(GetParam());
};

std::vector<float> draws(std::size_t n, std::uint64_t seed) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(Rng(seed).normal(i));
  return values;
}

// The promise: absolute error below 1e-6 against the erf form in double.
TEST_P(KernelsOf, GeluIsAccurate) {
  constexpr std::size_t n = 400000;
  std::vector<float> x(n), y(n), slope(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = -10.0f + 20.0f * static_cast<float>(i) / (n - 1);

  k.gelu(n, x.data(), y.data(), slope.data());

  double worst = 0, worst_slope = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double z = x[i], phi = 0.5 * std::erfc(-z / std::numbers::sqrt2);
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    worst = std::max(worst, std::abs(y[i] - z * phi));
    worst_slope = std::max(worst_slope, std::abs(slope[i] - (phi + z * density)));
  }
  EXPECT_LT(worst, 1e-6);
  EXPECT_LT(worst_slope, 1e-6);
}

TEST_P(KernelsOf, GeluAtTheEdges) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x = {0.0f, -0.0f, inf, nan, 1e30f, -1e30f, 40.0f, -40.0f};
  x.resize(kPanel);
  std::vector<float> y(kPanel), slope(kPanel);

  k.gelu(kPanel, x.data(), y.data(), slope.data());

  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], inf);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_TRUE(std::isnan(slope[3]));
  EXPECT_EQ(y[4], 1e30f);
  EXPECT_NEAR(y[5], 0.0f, 1e-6f);
  EXPECT_EQ(y[6], 40.0f);
  EXPECT_NEAR(y[7], 0.0f, 1e-6f);
  EXPECT_NEAR(slope[6], 1.0f, 1e-6f);
  EXPECT_NEAR(slope[7], 0.0f, 1e-6f);
}

// A row of a product must not depend on how many rows stand beside it.
TEST_P(KernelsOf, DenseRowsDoNotDependOnTheirNumber) {
  constexpr std::size_t points = 29, in = 37, out = 48;
  const auto x = draws(points * in, 1), weight = draws(in * out, 2);
  auto run = [&](std::size_t first, std::size_t n) {
    std::vector<float> y(n * out);
    Dense d{};
    d.points = n;
    d.in = in;
    d.out_padded = out;
    d.x = x.data() + first * in;
    d.ldx = in;
    d.weight = weight.data();
    d.y = y.data();
    d.ldy = out;
    k.dense(d);
    return y;
  };

  const auto whole = run(0, points);

  for (std::size_t first = 0; first < points; ++first)
    for (const std::size_t n : {1, 2, 5, 7}) {
      if (first + n > points) continue;
      const auto part = run(first, n);
      for (std::size_t i = 0; i < part.size(); ++i)
        ASSERT_EQ(part[i], whole[first * out + i]) << first << " " << n;
    }
}

// One step of the textbook update in double; float rounding allows 1e-6 of the step.
TEST_P(KernelsOf, AdamIsTheTextbookUpdate) {
  constexpr std::size_t n = 4 * kPanel;
  const auto gradient = draws(n, 3);
  auto weight = draws(n, 4), m = draws(n, 5), v = draws(n, 6);
  for (float& value : v) value *= value;
  const auto weight0 = weight, m0 = m, v0 = v;
  const AdamStep step{2e-3f, 0.9f, 0.999f, 3.0f, 1e-8f};

  k.adam(n, step, gradient.data(), weight.data(), m.data(), v.data());

  for (std::size_t i = 0; i < n; ++i) {
    const double g = gradient[i];
    const double m1 = 0.9 * m0[i] + 0.1 * g, v1 = 0.999 * v0[i] + 0.001 * g * g;
    EXPECT_NEAR(m[i], m1, 1e-6);
    EXPECT_NEAR(v[i], v1, 1e-6 * (1 + v1));
    EXPECT_NEAR(weight[i], weight0[i] - 2e-3 * m1 / (3.0 * std::sqrt(v1) + 1e-8),
                1e-6 + 2e-6 * std::abs(weight[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, KernelsOf, testing::ValuesIn(test::available_isas()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace stap::cpu
