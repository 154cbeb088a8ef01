#include "stap/eval/principal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "reference/jacobi.h"
#include "stap/core/error.h"
#include "stap/core/rng.h"

namespace stap {
namespace {

using Matrix = std::vector<double>;

// Both methods are backward stable: errors are a small multiple of epsilon times size and norm.
constexpr double kEigenRounding = 1e-13;

// Largest |A v - lambda v| and |v_a . v_b - delta_ab|.
double flaw(const Matrix& a, const SymmetricEigen& e) {
  const std::size_t n = e.values.size();
  double worst = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double* v = e.vectors.data() + k * n;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += a[i * n + j] * v[j];
      worst = std::max(worst, std::abs(sum - e.values[k] * v[i]));
    }
    for (std::size_t l = 0; l < n; ++l) {
      double product = 0;
      for (std::size_t j = 0; j < n; ++j) product += v[j] * e.vectors[l * n + j];
      worst = std::max(worst, std::abs(product - (k == l ? 1.0 : 0.0)));
    }
  }
  return worst;
}

TEST(SymmetricEigen, TwoByTwoByHand) {
  const SymmetricEigen e = symmetric_eigen(Matrix{2, 1, 1, 2}, 2);

  EXPECT_NEAR(e.values[0], 3.0, kEigenRounding);
  EXPECT_NEAR(e.values[1], 1.0, kEigenRounding);
  EXPECT_NEAR(e.vectors[0], std::sqrt(0.5), kEigenRounding);
  EXPECT_NEAR(e.vectors[1], std::sqrt(0.5), kEigenRounding);
  EXPECT_NEAR(std::abs(e.vectors[2]), std::sqrt(0.5), kEigenRounding);
  EXPECT_NEAR(e.vectors[2] + e.vectors[3], 0.0, kEigenRounding);
}

// 2 on the diagonal, -1 beside it: 2 - 2 cos(k pi / (n + 1)), vectors sin(k pi i / (n + 1)).
TEST(SymmetricEigen, SecondDifferencesHaveKnownValuesAndVectors) {
  constexpr std::size_t n = 9;
  Matrix a(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    a[i * n + i] = 2;
    if (i > 0) a[i * n + i - 1] = a[(i - 1) * n + i] = -1;
  }

  const SymmetricEigen e = symmetric_eigen(a, n);

  for (std::size_t k = 0; k < n; ++k) {
    const double wave = static_cast<double>(n - k) * std::numbers::pi / (n + 1);
    EXPECT_NEAR(e.values[k], 2 - 2 * std::cos(wave), kEigenRounding);
    double product = 0, norm = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double s = std::sin(wave * static_cast<double>(i + 1));
      product += s * e.vectors[k * n + i];
      norm += s * s;
    }
    EXPECT_NEAR(std::abs(product), std::sqrt(norm), 1e-12);  // parallel
  }
}

TEST(SymmetricEigen, AgreesWithJacobiRotations) {
  for (const std::size_t n : {1u, 2u, 3u, 4u, 7u, 20u, 33u}) {
    Matrix a(n * n);
    const Rng rng = Rng(7).split("matrix", n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = rng.normal(i * n + j);

    const SymmetricEigen e = symmetric_eigen(a, n);

    const std::vector<double> expected = reference::jacobi_eigenvalues(a, n);
    for (std::size_t k = 0; k < n; ++k)
      EXPECT_NEAR(e.values[k], expected[k], static_cast<double>(n) * kEigenRounding) << n;
    EXPECT_LT(flaw(a, e), static_cast<double>(n) * kEigenRounding) << n;
  }
}

// Equal and zero eigenvalues, values of very different size, no coupling at all.
TEST(SymmetricEigen, DegenerateMatrices) {
  constexpr std::size_t n = 6;
  Matrix identity(n * n, 0.0), rank_one(n * n), graded(n * n), zero(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    identity[i * n + i] = 1;
    for (std::size_t j = 0; j < n; ++j) {
      rank_one[i * n + j] = static_cast<double>((i + 1) * (j + 1));
      graded[i * n + j] = std::pow(10.0, -static_cast<double>(i + j));
    }
  }

  for (const Matrix& a : {identity, rank_one, graded, zero}) {
    const SymmetricEigen e = symmetric_eigen(a, n);
    EXPECT_LT(flaw(a, e), 100 * kEigenRounding);  // the norm of rank_one is 91
  }
  EXPECT_NEAR(symmetric_eigen(rank_one, n).values[0], 1 + 4 + 9 + 16 + 25 + 36,
              100 * kEigenRounding);
}

TEST(SymmetricEigen, RefusesWhatIsNoMatrix) {
  EXPECT_THROW(symmetric_eigen(Matrix{1, 2, 3}, 2), Error);
  EXPECT_THROW(symmetric_eigen(Matrix{std::numeric_limits<double>::infinity()}, 1), Error);
}

// Pairs of points at centre +- a_k d_k along orthonormal d_k: the covariance has directions d_k and
// variances 2 a_k^2 / (n - 1).
TEST(PrincipalComponents, KnownCovariance) {
  const double r = std::sqrt(0.5);
  const double directions[3][3] = {{r, r, 0}, {r, -r, 0}, {0, 0, 1}};
  const double spread[3] = {2.0, 0.5, 5.0};
  Matrix points;
  for (int k = 0; k < 3; ++k)
    for (const double sign : {1.0, -1.0})
      for (int i = 0; i < 3; ++i) points.push_back(10.0 + sign * spread[k] * directions[k][i]);

  const PrincipalComponents c = principal_components(points, 3, 2);

  ASSERT_EQ(c.count(), 2u);
  EXPECT_NEAR(c.variance[0], 2 * 25.0 / 5, 1e-12);
  EXPECT_NEAR(c.variance[1], 2 * 4.0 / 5, 1e-12);
  EXPECT_NEAR(c.total_variance, 2 * (25.0 + 4.0 + 0.25) / 5, 1e-12);
  EXPECT_NEAR(total_variance(points, 3), c.total_variance, 1e-12);
  EXPECT_NEAR(c.centre[1], 10.0, 1e-14);
  EXPECT_NEAR(c.directions[2], 1.0, 1e-12);
  const auto coordinates = c.coordinates(points);
  ASSERT_EQ(coordinates.size(), 12u);
  EXPECT_NEAR(coordinates[4 * 2 + 0], 5.0, 1e-12);  // the fifth point is centre + 5 d_2
  EXPECT_NEAR(coordinates[4 * 2 + 1], 0.0, 1e-12);
  EXPECT_NEAR(std::abs(coordinates[0 * 2 + 1]), 2.0, 1e-12);
}

TEST(PrincipalComponents, NoMoreDirectionsThanThePointsSpan) {
  const Matrix two{0, 0, 0, 3, 0, 4};

  const PrincipalComponents c = principal_components(two, 3, 8);

  ASSERT_EQ(c.count(), 1u);
  EXPECT_NEAR(c.variance[0], 12.5, 1e-12);
  EXPECT_NEAR(c.directions[0], 0.6, 1e-12);
  EXPECT_THROW(principal_components(Matrix{1, 2, 3}, 3, 8), Error);
  EXPECT_TRUE(std::isnan(total_variance(Matrix{1, 2, 3}, 3)));
}

}  // namespace
}  // namespace stap
