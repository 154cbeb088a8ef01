// Laws of the compressible solver over random rows: bit for bit unless a tolerance is stated.
#include "stap/pde/cns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "stap/core/rng.h"
#include "support/gas.h"
#include "support/solving.h"

namespace stap {
namespace {

using test::random_gas;
using test::solve_row;
using test::solve_rows;
using Viscosity = CnsOptions::Viscosity;
using Row = std::vector<double>;

constexpr std::size_t kX = 10, kY = 7, kCells = kX * kY;  // no powers of two: 1/dx rounds

// Both kinds of viscosity, with unequal lengths.
std::vector<CnsOptions> both() {
  CnsOptions options;
  options.points = {kX, kY};
  options.lengths = {1.0, 0.8};
  options.shear_viscosity = 0.02;
  options.bulk_viscosity = 0.05;
  options.dt = 0.02;
  std::vector<CnsOptions> result(2, options);
  result[1].viscosity = Viscosity::kinematic;
  return result;
}

Row random_row(const CnsOptions& options, std::uint64_t seed) {
  return random_gas(options, seed, seed % 2 == 0);
}
std::vector<Row> random_rows(const CnsOptions& options, std::size_t n) {
  std::vector<Row> rows;
  for (std::uint64_t seed = 0; seed < n; ++seed) rows.push_back(random_row(options, seed));
  return rows;
}

// Value (i, j) of every channel of the result is the row's at from(i, j).
using Place = std::pair<std::size_t, std::size_t>;
Row rearranged(const Row& row, std::size_t nx, std::size_t ny, std::size_t from_ny,
               const std::function<Place(std::size_t, std::size_t)>& from) {
  Row result(row.size());
  for (std::size_t c = 0; c < 4; ++c)
    for (std::size_t i = 0; i < nx; ++i)
      for (std::size_t j = 0; j < ny; ++j) {
        const auto [a, b] = from(i, j);
        result[(c * nx + i) * ny + j] = row[c * nx * ny + a * from_ny + b];
      }
  return result;
}
void negate(Row& row, std::size_t channel) {
  const std::size_t cells = row.size() / 4;
  for (std::size_t i = 0; i < cells; ++i) row[channel * cells + i] *= -1;
}

// Broken by: a wrong ghost cell or corner, a face counted from the wrong end of either axis.
TEST(CnsLaws, WholeCellTranslationCommutes) {
  for (const CnsOptions& options : both()) {
    const auto solver = make_cns(options);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Row row = random_row(options, seed);
      const std::size_t a = Rng(seed).below(50, kX), b = 1 + Rng(seed).below(51, kY - 1);
      const auto move = [&](const Row& r) {
        return rearranged(r, kX, kY, kY, [&](std::size_t i, std::size_t j) {
          return Place((i + a) % kX, (j + b) % kY);
        });
      };

      EXPECT_EQ(solve_row(*solver, move(row)), move(solve_row(*solver, row)));
    }
  }
}

// x -> -x with v_x -> -v_x, and the same along y. Broken by: a slope that prefers one neighbour, a
// wave speed or a stress of one side only, a wrong sign of a mixed derivative.
TEST(CnsLaws, ReflectionCommutes) {
  for (const CnsOptions& options : both()) {
    const auto solver = make_cns(options);
    for (bool along_x : {true, false})
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Row row = random_row(options, seed);
        const auto reflect = [&](const Row& r) {
          Row result = rearranged(r, kX, kY, kY, [&](std::size_t i, std::size_t j) {
            return along_x ? Place(kX - 1 - i, j) : Place(i, kY - 1 - j);
          });
          negate(result, along_x ? 1 : 2);
          return result;
        };

        EXPECT_EQ(solve_row(*solver, reflect(row)), reflect(solve_row(*solver, row)));
      }
  }
}

// (x, y) -> (-y, x), (v_x, v_y) -> (-v_y, v_x): the grid turns too. Broken by: anything that is
// done along one axis only, dx and dy mistaken for one another.
TEST(CnsLaws, RotationByARightAngleCommutes) {
  for (const CnsOptions& options : both()) {
    CnsOptions turned_options = options;
    std::swap(turned_options.points[0], turned_options.points[1]);
    std::swap(turned_options.lengths[0], turned_options.lengths[1]);
    const auto solver = make_cns(options), turned = make_cns(turned_options);
    const auto rotate = [](const Row& r) {
      Row result = rearranged(r, kY, kX, kY,
                              [](std::size_t i, std::size_t j) { return Place(j, kY - 1 - i); });
      std::swap_ranges(result.begin() + kCells, result.begin() + 2 * kCells,
                       result.begin() + 2 * kCells);
      negate(result, 1);
      return result;
    };
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Row row = random_row(options, seed);

      EXPECT_EQ(solve_row(*turned, rotate(row)), rotate(solve_row(*solver, row)));
    }
  }
}

// Velocities x 2, pressure x 4, time / 2, viscosities x 2; exact, as 2 is a power of two (and the
// floor is far below). Broken by: a constant that does not scale in a wave speed, a stress or the
// energy.
TEST(CnsLaws, ScalingCommutes) {
  for (const CnsOptions& options : both()) {
    CnsOptions fast = options;
    fast.dt /= 2;
    fast.shear_viscosity.value *= 2;
    fast.bulk_viscosity.value *= 2;
    const auto slow_solver = make_cns(options), fast_solver = make_cns(fast);
    const auto scale = [](Row row) {
      for (std::size_t i = kCells; i < 3 * kCells; ++i) row[i] *= 2;
      for (std::size_t i = 3 * kCells; i < 4 * kCells; ++i) row[i] *= 4;
      return row;
    };
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Row row = random_row(options, seed);

      EXPECT_EQ(solve_row(*fast_solver, scale(row)), scale(solve_row(*slow_solver, row)));
    }
  }
}

// Mass, momentum and total energy: 1e-12 of the sums of their sizes, which is rounding over some
// ten steps. Broken by: a flux that differs between the two cells it joins, work of the stress left
// out of one of them, a conversion that loses energy.
TEST(CnsLaws, MassMomentumAndEnergyAreConserved) {
  for (const CnsOptions& options : both()) {
    const auto solver = make_cns(options);
    const auto totals = [&](const Row& row) {
      std::array<double, 4> sum{};
      for (std::size_t i = 0; i < kCells; ++i) {
        const double rho = row[i], vx = row[kCells + i], vy = row[2 * kCells + i];
        sum[0] += rho;
        sum[1] += rho * vx;
        sum[2] += rho * vy;
        sum[3] += row[3 * kCells + i] / (options.gamma - 1) + rho * (vx * vx + vy * vy) / 2;
      }
      return sum;
    };
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Row row = random_row(options, seed);
      const auto before = totals(row);

      const Row later = solve_row(*solver, row);

      const auto after = totals(later);
      const double scale = before[0] + before[3];  // momentum is below the mean of both
      for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(after[k], before[k], 1e-12 * scale) << k;
      double change = 0;
      for (std::size_t i = 0; i < row.size(); ++i)
        change = std::max(change, std::abs(later[i] - row[i]));
      EXPECT_GT(change, 1e-2);  // something has happened
    }
  }
}

// Refused rows (NaN, infinite, too large, no gas), one that fails (two streams collide beyond the
// bound) and a slow one. Broken by: a refused row that still takes part in its block, a NaN that
// leaks through a maximum over lanes, a lane stopped with its neighbours.
TEST(CnsLaws, BadAndSlowRowsLeaveTheOthersAlone) {
  CnsOptions options = both()[1];
  options.max_abs = 50;
  const auto solver = make_cns(options);
  std::vector<Row> rows = random_rows(options, 7);
  const std::vector<Answer> expected = solve_rows(*solver, rows);
  Row collision(4 * kCells, 1.0), slow = rows[0], no_gas = rows[0];
  for (std::size_t i = 0; i < kCells; ++i) {
    collision[kCells + i] = i < kCells / 2 ? 49 : -49;
    slow[kCells + i] += 40;
  }
  no_gas[5] = -1e-9;
  const double infinite = std::numeric_limits<double>::infinity();
  rows.insert(rows.begin() + 1, Row(4 * kCells, std::numeric_limits<double>::quiet_NaN()));
  rows.insert(rows.begin() + 3, Row(4 * kCells, 1e300));
  rows.insert(rows.begin() + 4, Row(4 * kCells, infinite));
  rows.insert(rows.begin() + 6, no_gas);
  rows.insert(rows.begin() + 7, collision);
  rows.insert(rows.begin() + 9, slow);

  const std::vector<Answer> answers = solve_rows(*solver, rows);

  for (std::size_t bad : {1u, 3u, 4u, 6u}) EXPECT_EQ(answers[bad].status, Answer::Status::refused);
  EXPECT_EQ(answers[7].status, Answer::Status::failed);
  EXPECT_EQ(answers[9].status, Answer::Status::ok) << answers[9].reason;
  const std::size_t good[] = {0, 2, 5, 8, 10, 11, 12};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(answers[good[i]].states, expected[i].states);
}

// One learned step against two halves: equal up to the cut of one internal step. Broken by: a last
// internal step that is not cut at dt.
TEST(CnsLaws, TwoHalfStepsMakeOne) {
  for (const CnsOptions& options : both()) {
    CnsOptions half = options;
    half.dt /= 2;
    const auto whole_solver = make_cns(options), half_solver = make_cns(half);
    for (std::uint64_t seed = 1; seed < 10; seed += 2) {  // smooth rows
      const Row row = random_row(options, seed);

      const Row once = solve_row(*whole_solver, row);
      const Row twice = solve_row(*half_solver, solve_row(*half_solver, row));

      double difference = 0, change = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        difference = std::max(difference, std::abs(once[i] - twice[i]));
        change = std::max(change, std::abs(once[i] - row[i]));
      }
      EXPECT_LT(difference, 0.02 * change);
    }
  }
}

}  // namespace
}  // namespace stap
