// Laws of the Burgers solver that hold bit for bit, over random rows.
#include "stap/pde/burgers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "stap/core/rng.h"
#include "support/solving.h"

namespace stap {
namespace {

using test::solve_row;
using test::solve_rows;
using Row = std::vector<double>;

constexpr std::size_t kPoints = 100;  // no power of two: scalings by dx round

Row random_row(std::uint64_t seed) {
  const Rng rng(seed);
  const double amplitude = std::exp(rng.uniform(0, -2.0, 2.0));
  Row row = test::at_cells(kPoints, 1.0, [&](double x) {
    double u = rng.uniform(1, -1, 1);
    for (std::uint64_t k = 1; k < 5; ++k)
      u += rng.uniform(1 + k, -1, 1) * std::sin(2 * std::numbers::pi * static_cast<double>(k) * x);
    return u;
  });
  // Some rough rows, so that limiter and flux see every case.
  if (seed % 3 == 0)
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += 0.3 * rng.normal(100 + i);
  for (double& value : row) value *= amplitude;
  return row;
}

std::vector<Row> random_rows(std::size_t n) {
  std::vector<Row> rows;
  for (std::uint64_t seed = 0; seed < n; ++seed) rows.push_back(random_row(seed));
  return rows;
}

BurgersOptions options() {
  BurgersOptions options;
  options.points = kPoints;
  options.dt = 0.05;
  return options;
}

// Broken by: a wrong ghost cell, a face counted from the wrong end.
TEST(BurgersLaws, WholeCellTranslationCommutes) {
  const auto solver = make_burgers(options());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Row row = random_row(seed);
    const auto shift = static_cast<std::ptrdiff_t>(1 + Rng(seed).below(50, kPoints - 1));
    Row moved = row;
    std::rotate(moved.begin(), moved.begin() + shift, moved.end());

    Row expected = solve_row(*solver, row);
    const Row got = solve_row(*solver, moved);

    std::rotate(expected.begin(), expected.begin() + shift, expected.end());
    EXPECT_EQ(got, expected);
  }
}

// u(x) -> -u(-x). Broken by: an upwind side taken for one sign only, a slope that prefers one
// neighbour.
TEST(BurgersLaws, ReflectionCommutes) {
  const auto solver = make_burgers(options());
  const auto reflect = [](Row row) {
    std::reverse(row.begin(), row.end());
    for (double& value : row) value = -value;
    return row;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Row row = random_row(seed);

    EXPECT_EQ(solve_row(*solver, reflect(row)), reflect(solve_row(*solver, row)));
  }
}

// u -> 2u, D -> 2D, t -> t/2; exact, as 2 is a power of two. Broken by: a step limit or a flux with
// a constant that does not scale.
TEST(BurgersLaws, ScalingCommutes) {
  const auto slow = make_burgers(options());
  BurgersOptions doubled = options();
  doubled.viscosity.value *= 2;
  doubled.dt /= 2;
  const auto fast = make_burgers(doubled);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Row row = random_row(seed);
    Row expected = solve_row(*slow, row);
    for (double& value : row) value *= 2;

    const Row got = solve_row(*fast, row);

    for (double& value : expected) value *= 2;
    EXPECT_EQ(got, expected);
  }
}

// Broken by: a refused row that still takes part in its block, a NaN that leaks through a maximum
// over lanes.
TEST(BurgersLaws, BadRowsLeaveTheOthersAlone) {
  const auto solver = make_burgers(options());
  std::vector<Row> rows = random_rows(7);
  const std::vector<Answer> expected = solve_rows(*solver, rows);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  rows.insert(rows.begin() + 1, Row(kPoints, nan));
  rows.insert(rows.begin() + 3, Row(kPoints, 1e300));
  rows.insert(rows.begin() + 6, Row(kPoints, -std::numeric_limits<double>::infinity()));

  const std::vector<Answer> answers = solve_rows(*solver, rows);

  for (std::size_t bad : {1u, 3u, 6u}) EXPECT_EQ(answers[bad].status, Answer::Status::refused);
  const std::size_t good[] = {0, 2, 4, 5, 7, 8, 9};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(answers[good[i]].states, expected[i].states);
}

// A row near the bound takes thousands of internal steps, its neighbours some hundred. Broken by: a
// lane that goes on, or is stopped, with the slowest or fastest one.
TEST(BurgersLaws, SlowRowsLeaveTheOthersAlone) {
  const auto solver = make_burgers(options());
  std::vector<Row> rows = random_rows(4);
  const std::vector<Answer> expected = solve_rows(*solver, rows);
  rows[1] = Row(kPoints, 99.0);
  rows[1][3] = -99.0;

  const std::vector<Answer> answers = solve_rows(*solver, rows);

  for (std::size_t i : {0u, 2u, 3u}) EXPECT_EQ(answers[i].states, expected[i].states);
  EXPECT_EQ(answers[1].status, Answer::Status::ok) << answers[1].reason;
}

// Ten rows of one learned step against the same in two halves: equal up to the cut of one internal
// step, far below the size of the step itself. Broken by: a last internal step that is not cut at
// dt.
TEST(BurgersLaws, TwoHalfStepsMakeOne) {
  BurgersOptions half = options();
  half.dt /= 2;
  const auto whole_solver = make_burgers(options());
  const auto half_solver = make_burgers(half);
  for (std::uint64_t seed = 1; seed < 20; seed += 3) {  // smooth rows
    const Row row = random_row(seed);

    const Row once = solve_row(*whole_solver, row);
    const Row twice = solve_row(*half_solver, solve_row(*half_solver, row));

    double difference = 0, change = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      difference = std::max(difference, std::abs(once[i] - twice[i]));
      change = std::max(change, std::abs(once[i] - row[i]));
    }
    EXPECT_LT(difference, 1e-3 * change);
  }
}

}  // namespace
}  // namespace stap
