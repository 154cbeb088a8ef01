// Laws of the incompressible solver over random flows: symmetries to rounding, independence of rows
// bit for bit.
#include "stap/pde/ins.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "support/ins_flows.h"

namespace stap {
namespace {

using Scheme = InsOptions::Scheme;
using test::eddies;
using test::Field;
using test::largest;
using test::largest_difference;
using test::rough;
using test::solve_field;
using test::solve_fields;

constexpr std::size_t kNx = 16, kNy = 12;
constexpr Scheme kSchemes[] = {Scheme::crank_nicolson, Scheme::ifrk4};

InsOptions options(Scheme scheme) {
  InsOptions options;
  options.points = {kNx, kNy};
  options.lengths = {1.0, 0.8};
  options.viscosity = 1e-3;
  options.forcing = 0.0;
  options.scheme = scheme;
  options.dt = 0.2;
  options.step = scheme == Scheme::crank_nicolson ? 0.01 : 0.05;
  return options;
}

std::vector<Field> random_rows(const InsOptions& of, std::size_t n) {
  std::vector<Field> rows;
  for (std::uint64_t seed = 0; seed < n; ++seed)
    rows.push_back(seed % 3 == 0 ? rough(of, seed) : eddies(of, seed, 1.0 + double(seed % 4)));
  return rows;
}

// result(i, j) = factor * field(image of (i, j)), for a field [nx, ny].
Field mapped(const Field& field, std::size_t nx, std::size_t ny, double factor,
             const std::function<std::size_t(std::size_t, std::size_t)>& image) {
  Field result;
  for (std::size_t i = 0; i < nx; ++i)
    for (std::size_t j = 0; j < ny; ++j) result.push_back(factor * field[image(i, j)]);
  return result;
}

// A step moves these flows by tenths, and both sides round differently: 1e-12 of values of 1. The
// seeds' rough rows contain every mode, Nyquist included.
void expect_symmetry(const InsOptions& from, const InsOptions& to,
                     const std::function<Field(const Field&)>& map) {
  const auto solver = make_ins(from), other = make_ins(to);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Field row = random_rows(from, seed + 1).back();

    const Field stepped = solve_field(*solver, row), got = solve_field(*other, map(row));

    EXPECT_LT(largest_difference(got, map(stepped)), 1e-12);
    EXPECT_GT(largest_difference(stepped, row), 1e-2);
  }
}

// Broken by: a mode stored in the wrong place, a Nyquist derivative that is not 0.
TEST(InsLaws, WholeCellTranslationCommutes) {
  for (Scheme scheme : kSchemes)
    expect_symmetry(options(scheme), options(scheme), [](const Field& w) {
      return mapped(w, kNx, kNy, 1.0, [](std::size_t i, std::size_t j) {
        return (i + 5) % kNx * kNy + (j + 7) % kNy;
      });
    });
}

// f depends on x/X + y/Y only: 4 of 16 cells ahead along x, 3 of 12 back along y. Broken by: a
// forcing of the wrong mode or evaluated at other points.
TEST(InsLaws, TranslationAlongTheForcingCommutes) {
  for (Scheme scheme : kSchemes) {
    InsOptions forced = options(scheme);
    forced.forcing = 1.0;
    forced.forcing_rate = 0.3;
    expect_symmetry(forced, forced, [](const Field& w) {
      return mapped(w, kNx, kNy, 1.0, [](std::size_t i, std::size_t j) {
        return (i + 4) % kNx * kNy + (j + kNy - 3) % kNy;
      });
    });
  }
}

// x -> -x turns every eddy around. Broken by: a sign of u or v, a box that cuts kx and -kx apart.
TEST(InsLaws, ReflectionFlipsTheSign) {
  for (Scheme scheme : kSchemes) {
    InsOptions moving = options(scheme), mirrored = moving;
    moving.mean_velocity = {0.4, 0.1};
    mirrored.mean_velocity = {-0.4, 0.1};
    expect_symmetry(moving, mirrored, [](const Field& w) {
      return mapped(w, kNx, kNy, -1.0,
                    [](std::size_t i, std::size_t j) { return (kNx - i) % kNx * kNy + j; });
    });
  }
}

// Axes exchanged: also a reflection. Broken by: anything that is right along one axis only.
TEST(InsLaws, SwappedAxesFlipTheSign) {
  for (Scheme scheme : kSchemes) {
    InsOptions upright = options(scheme), swapped = upright;
    upright.mean_velocity = {0.4, 0.1};
    swapped.points = {kNy, kNx};
    swapped.lengths = {upright.lengths[1], upright.lengths[0]};
    swapped.mean_velocity = {0.1, 0.4};
    expect_symmetry(upright, swapped, [](const Field& w) {
      return mapped(w, kNy, kNx, -1.0, [](std::size_t i, std::size_t j) { return j * kNy + i; });
    });
  }
}

// (x, y) -> (-y, x). Broken by: u and v exchanged with one sign lost (a reflection hides it).
TEST(InsLaws, QuarterTurnCommutes) {
  for (Scheme scheme : kSchemes) {
    InsOptions upright = options(scheme), turned = upright;
    upright.mean_velocity = {0.4, 0.1};
    turned.points = {kNy, kNx};
    turned.lengths = {upright.lengths[1], upright.lengths[0]};
    turned.mean_velocity = {-0.1, 0.4};
    expect_symmetry(upright, turned, [](const Field& w) {
      return mapped(w, kNy, kNx, 1.0,
                    [](std::size_t i, std::size_t j) { return j * kNy + (kNy - i) % kNy; });
    });
  }
}

// Without a mean of f nothing makes or destroys mean vorticity. Broken by: a product whose mean
// does not vanish (v that is not free of divergence), forcing in mode (0, 0).
TEST(InsLaws, MeanVorticityIsConserved) {
  const auto mean = [](const Field& w) {
    return std::accumulate(w.begin(), w.end(), 0.0) / static_cast<double>(w.size());
  };
  for (Scheme scheme : kSchemes) {
    InsOptions forced = options(scheme);
    forced.forcing = 1.0;
    forced.mean_velocity = {0.4, 0.1};
    const auto solver = make_ins(forced);
    for (Field w : random_rows(forced, 6)) {
      for (double& value : w) value += 0.3;
      const double before = mean(w);

      for (int step = 0; step < 5; ++step) w = solve_field(*solver, w);

      EXPECT_NEAR(mean(w), before, 1e-12);
    }
  }
}

// Both halves take the same internal steps; between them only a transform there and back. Broken
// by: forcing that counts time from the start of a call, a step count that does not halve.
TEST(InsLaws, TwoHalfStepsMakeOne) {
  for (Scheme scheme : kSchemes) {
    InsOptions whole = options(scheme);
    whole.forcing = 2.0;
    whole.forcing_rate = 0.7;
    InsOptions half = whole;
    half.dt /= 2;
    const auto solver = make_ins(whole), half_solver = make_ins(half);
    for (double time : {0.0, 1.3, -0.1, -0.05}) {
      const Field row = eddies(whole, 3, 1.0);

      const Field once = solve_field(*solver, row, time);
      const Field twice =
          solve_field(*half_solver, solve_field(*half_solver, row, time), time + half.dt);

      EXPECT_LT(largest_difference(once, twice), 1e-12);
    }
  }
}

// t < 0 is the warm-up. Broken by: a forcing that turns with negative times.
TEST(InsLaws, ForcingStandsStillDuringTheWarmUp) {
  for (Scheme scheme : kSchemes) {
    InsOptions steady = options(scheme);
    steady.forcing = 1.0;
    InsOptions turning = steady;
    turning.forcing_rate = 0.4;
    const Field row = eddies(steady, 4);

    const Field expected = solve_field(*make_ins(steady), row);

    EXPECT_EQ(solve_field(*make_ins(turning), row, -2.0), expected);
    EXPECT_NE(solve_field(*make_ins(turning), row, 0.0), expected);
  }
}

// A flow that halves the step twice all the way is one with a quarter of it from the start, to the
// last bit. Broken by: an integrating factor or a weight that still belongs to another step, a
// limit that the speed does not enter.
TEST(InsLaws, HalvedStepsAreSmallerSteps) {
  InsOptions large = options(Scheme::ifrk4);
  // h (|u| Kx + |v| Ky) at this mean flow is 0.2 (0.5 * 31 + 0.5 * 31) = 6.3, the eddies add some:
  // above 2 * 2.4, below 4 * 2.4.
  large.lengths = {1.0, 0.8};
  large.mean_velocity = {0.5, 0.5};
  large.step = 0.2;
  InsOptions small = large;
  small.step = 0.05;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Field row = eddies(large, seed, 0.2);

    const Field got = solve_field(*make_ins(large), row);

    EXPECT_EQ(got, solve_field(*make_ins(small), row));
  }
  // Without the mean flow the large step is taken as it is.
  large.mean_velocity = small.mean_velocity = {0.0, 0.0};
  const Field row = eddies(large, 0, 0.2);
  EXPECT_NE(solve_field(*make_ins(large), row), solve_field(*make_ins(small), row));
}

// Broken by: one time for all lanes of a block.
TEST(InsLaws, RowsHaveTheirOwnTimes) {
  for (Scheme scheme : kSchemes) {
    InsOptions turning = options(scheme);
    turning.forcing = 1.0;
    turning.forcing_rate = 0.4;
    const auto solver = make_ins(turning);
    const Field row = eddies(turning, 5);
    const double times[] = {0.0, 0.7, -3.0, 1.1, -0.1};
    std::vector<Query> queries;
    for (double time : times) queries.push_back({.state = row, .time = time});
    std::vector<Answer> answers(queries.size());

    solver->solve(queries, answers);

    for (std::size_t i = 0; i < queries.size(); ++i)
      EXPECT_EQ(answers[i].states, solve_field(*solver, row, times[i]));
  }
}

// Refused, failing and slow rows in the same blocks. Broken by: a refused row that takes part in
// its block, a NaN that leaks through a sum over lanes, a lane stopped with the fastest one.
TEST(InsLaws, BadAndFastRowsLeaveTheOthersAlone) {
  for (Scheme scheme : kSchemes) {
    InsOptions bounded = options(scheme);
    bounded.max_abs = 200.0;
    bounded.step = 0.05;
    const auto solver = make_ins(bounded);
    std::vector<Field> rows = random_rows(bounded, 7);
    const std::vector<Answer> expected = solve_fields(*solver, rows);
    const std::size_t size = kNx * kNy;
    rows.insert(rows.begin() + 1, Field(size, std::numeric_limits<double>::quiet_NaN()));
    rows.insert(rows.begin() + 3, Field(size, 1e300));
    Field fast = rough(bounded, 1);
    const double factor = 180.0 / largest(fast);
    for (double& value : fast) value *= factor;
    rows.insert(rows.begin() + 6, fast);

    const std::vector<Answer> answers = solve_fields(*solver, rows);

    for (std::size_t bad : {1u, 3u}) EXPECT_EQ(answers[bad].status, Answer::Status::refused);
    // Steps of 0.05 are far too large for it, halved ones are not.
    EXPECT_EQ(answers[6].status,
              scheme == Scheme::ifrk4 ? Answer::Status::ok : Answer::Status::failed);
    const std::size_t good[] = {0, 2, 4, 5, 7, 8, 9};
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(answers[good[i]].states, expected[i].states);
  }
}

}  // namespace
}  // namespace stap
