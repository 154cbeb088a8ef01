// Laws of the KdV and KS solvers over random rows: those of rows and batches bit for bit,
// symmetries to rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "stap/core/rng.h"
#include "stap/pde/kdv.h"
#include "stap/pde/ks.h"
#include "support/solving.h"
#include "support/spectral_rows.h"

namespace stap {
namespace {

using test::solve_row;
using test::solve_rows;
using Row = std::vector<double>;

constexpr std::size_t kPoints = 40;  // no power of two

struct Case {
  std::string name;
  std::function<std::unique_ptr<Solver>(double dt, double max_abs, int threads)> make;
  double dt;
  /// How far rounding may carry symmetric runs apart. Exponential steps are the same steps. Error
  /// control works at the limit of stability, where modes of the size of rounding grow until they
  /// show in the estimate: every step may be wrong by atol = 1e-6, in a way that rounding decides.
  double symmetry;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

Case kdv_case(KdvOptions::Scheme scheme, const std::string& name, double symmetry) {
  return {name,
          [scheme](double dt, double max_abs, int threads) {
            KdvOptions options;
            options.points = kPoints;
            options.length = 20;
            options.dt = dt;
            options.scheme = scheme;
            options.max_abs = max_abs;
            return make_kdv(options, threads);
          },
          0.25, symmetry};
}

std::vector<Case> cases() {
  return {kdv_case(KdvOptions::Scheme::dopri5, "kdv_dopri5", 2e-5),
          kdv_case(KdvOptions::Scheme::etdrk4, "kdv_etdrk4", 1e-12),
          {"ks",
           [](double dt, double max_abs, int threads) {
             KsOptions options;
             options.points = kPoints;
             options.length = 30;
             options.dt = dt;
             options.step = 0.125;
             options.max_abs = max_abs;
             return make_ks(options, threads);
           },
           1.0, 1e-12}};
}

Row random_row(std::uint64_t seed) {
  Row row = test::random_waves(kPoints, seed);
  const double amplitude = std::exp(Rng(seed).uniform(90, -2.0, 1.0));
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = amplitude * (row[i] + (seed % 3 == 0 ? 0.01 * Rng(seed).normal(100 + i) : 0.0));
  return row;
}
std::vector<Row> random_rows(std::size_t n) {
  std::vector<Row> rows;
  for (std::uint64_t seed = 0; seed < n; ++seed) rows.push_back(random_row(seed));
  return rows;
}

class KdvKsLaws : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Solver> solver(int threads = 1, double max_abs = 50.0) const {
    return GetParam().make(GetParam().dt, max_abs, threads);
  }
};

INSTANTIATE_TEST_SUITE_P(All, KdvKsLaws, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

// Rows that are refused, and one that passes the bound on its way. Broken by: a refused row that
// still takes part in its block, a NaN that leaks through an error norm, a lane that ends with
// another.
TEST_P(KdvKsLaws, BadRowsLeaveTheOthersAlone) {
  std::vector<Row> rows = random_rows(7);
  Row wild(kPoints);  // a sawtooth from which both equations make something taller at once
  for (std::size_t i = 0; i < kPoints; ++i)
    wild[i] = 49.9 * (2 * static_cast<double>(i) / kPoints - 1);
  const auto s = solver();
  const std::vector<Answer> expected = solve_rows(*s, rows);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  rows.insert(rows.begin() + 1, Row(kPoints, nan));
  rows.insert(rows.begin() + 3, Row(kPoints, 1e300));
  rows.insert(rows.begin() + 5, wild);

  const std::vector<Answer> answers = solve_rows(*s, rows);

  for (std::size_t bad : {1u, 3u}) EXPECT_EQ(answers[bad].status, Answer::Status::refused);
  EXPECT_EQ(answers[5].status, Answer::Status::failed);
  const std::size_t good[] = {0, 2, 4, 6, 7, 8, 9};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(answers[good[i]].states, expected[i].states);
}

// Broken by: a wave number that depends on the position, a grid read from the wrong end.
TEST_P(KdvKsLaws, WholeCellTranslationCommutes) {
  const auto s = solver();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Row row = random_row(seed);
    const auto shift = static_cast<std::ptrdiff_t>(1 + Rng(seed).below(50, kPoints - 1));
    Row moved = row;
    std::rotate(moved.begin(), moved.begin() + shift, moved.end());

    Row expected = solve_row(*s, row);
    const Row got = solve_row(*s, moved);

    std::rotate(expected.begin(), expected.begin() + shift, expected.end());
    EXPECT_LT(test::largest_difference(got, expected), GetParam().symmetry) << seed;
  }
}

// Both equations are conservation laws. Broken by: a nonlinear term that has a mean.
TEST_P(KdvKsLaws, MeanIsConserved) {
  const auto s = solver();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Row row = random_row(seed);

    const Row later = solve_row(*s, row);

    EXPECT_NEAR(test::mean(later), test::mean(row), 1e-12);
    EXPECT_GT(test::largest_difference(later, row), 1e-3);  // something has happened
  }
}

// Broken by: a last internal step that is not cut at dt, one internal step too many.
TEST_P(KdvKsLaws, TwoHalfStepsMakeOne) {
  const auto whole = solver(), half = GetParam().make(GetParam().dt / 2, 50.0, 1);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Row row = random_row(seed);

    const Row once = solve_row(*whole, row);
    const Row twice = solve_row(*half, solve_row(*half, row));

    EXPECT_LT(test::largest_difference(once, twice), GetParam().symmetry) << seed;
  }
}

// u(x) -> -u(-x) is a symmetry of KS. Broken by: a sign in the nonlinear term that treats waves to
// the left and to the right differently.
TEST(KsLaws, ReflectionCommutes) {
  const Case ks = cases()[2];
  const auto s = ks.make(ks.dt, 50.0, 1);
  const auto reflect = [](const Row& row) {
    Row reflected(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) reflected[i] = -row[(row.size() - i) % row.size()];
    return reflected;
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Row row = random_row(seed);

    const Row got = solve_row(*s, reflect(row));

    EXPECT_LT(test::largest_difference(got, reflect(solve_row(*s, row))), ks.symmetry) << seed;
  }
}

// The same reflection is none of KdV (it turns time around): the law above can tell the difference.
TEST(KdvLaws, ReflectionDoesNotCommute) {
  const Case kdv = cases()[1];
  const auto s = kdv.make(kdv.dt, 50.0, 1);
  const Row row = random_row(1);
  Row reflected(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) reflected[i] = -row[(kPoints - i) % kPoints];

  const Row forward = solve_row(*s, row), other = solve_row(*s, reflected);

  double difference = 0;
  for (std::size_t i = 0; i < kPoints; ++i)
    difference = std::max(difference, std::abs(other[i] + forward[(kPoints - i) % kPoints]));
  EXPECT_GT(difference, 1e-3);
}

}  // namespace
}  // namespace stap
