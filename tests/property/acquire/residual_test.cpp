// The residual score against nested loops, and where it must vanish.
#include "acquire/residual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/residual.h"
#include "stap/acquire/methods.h"
#include "stap/pde/ins.h"
#include "stap/pde/kdv.h"
#include "support/acquiring.h"
#include "support/ins_flows.h"
#include "support/order.h"
#include "support/solving.h"
#include "support/spectral_rows.h"

namespace stap {
namespace {

using test::World;
using Row = std::vector<double>;

// A right-hand side that depends on the time, so that a wrong one shows.
double moving(double u, double time) {
  return -0.8 * u + 0.3 * std::sin(5 * time);
}
constexpr double kDt = 0.2;

// Bit for bit, also for one member and for blocks that do not divide the pool. Breaks if a member
// is weighed by its block, a state is compared with that of another row or member, F is taken at
// one end only, at the wrong time or in float, or the sum runs over another order.
TEST(ResidualProperty, ScoresAreThoseOfNestedLoopsWhateverTheBlock) {
  std::vector<World> worlds = test::some_worlds(7);
  worlds.push_back(test::linear_world(9, 1, 4, 7));
  for (World& world : worlds) {
    const test::FunctionRhs rhs(world.committee->grid(), kDt, moving);
    std::vector<double> expected;
    for (std::size_t id : world.open)
      expected.push_back(reference::residual(world.models(), world.state(id), world.steps, kDt,
                                             [](const Row& u, double time) {
                                               Row rates;
                                               for (double v : u) rates.push_back(moving(v, time));
                                               return rates;
                                             }));

    for (const std::size_t block : {1u, 2u, 3u, 128u})
      EXPECT_EQ(residual_scores(*world.committee, world.candidates(), world.open, rhs, block),
                expected)
          << world.committee->members() << " members, blocks of " << block;
  }
}

// Breaks if the order is ascending or scores land on a neighbour's id.
TEST(ResidualProperty, LargestFirst) {
  World world = test::linear_world(3, 1, 4, 9);
  const std::vector<double> scores = residual_scores(
      *world.committee, world.candidates(), world.open, *test::decay(world.pool.grid(), kDt));

  const Order order = make_residual(test::decay(world.pool.grid(), kDt))
                          ->order(*world.committee, world.candidates(), 9, Rng(0));

  std::vector<std::size_t> expected = world.open;
  std::sort(expected.begin(), expected.end(),
            [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  EXPECT_EQ(order.ids, expected);
  EXPECT_EQ(order.not_finite, 0u);
}

// A state without an F is as bad as one that is not finite. Breaks if NaN rates are taken for 0.
TEST(ResidualProperty, CandidatesWithoutAnFAreLeftOutAndCounted) {
  World world = test::linear_world(3, 2, 4, 9);
  world.pool.row(4)[0] = 100.0f;
  const auto hole = [](double u, double) {
    return std::abs(u) > 50 ? std::numeric_limits<double>::quiet_NaN() : -u;
  };

  const Order order =
      make_residual(std::make_unique<test::FunctionRhs>(world.pool.grid(), kDt, hole))
          ->order(*world.committee, world.candidates(), 9, Rng(0));

  EXPECT_EQ(order.ids.size(), 8u);
  EXPECT_EQ(std::count(order.ids.begin(), order.ids.end(), 4u), 0);
  EXPECT_EQ(order.not_finite, 1u);
}

// |residual| of one step of a solver.
double residual_of(const Solver& solver, const RightHandSide& rhs, const Row& u, double time) {
  const Row next = test::solve_field(solver, u, time);
  const Row f = test::rate_of(rhs, u, time), f_next = test::rate_of(rhs, next, time + solver.dt());
  return std::sqrt(step_residual2({u, f}, {next, f_next}, solver.dt()));
}

// What is left of an exact step is the error of the trapezoidal rule, dt^2: it vanishes, and so
// does nothing else. Breaks if F is taken at one end only or at one time for both (order 1), or is
// not that of the solver (order 0).
TEST(ResidualProperty, OfExactStepsVanishesWithTheSquareOfDt) {
  KdvOptions kdv;
  kdv.points = 32;
  kdv.length = 32;
  kdv.scheme = KdvOptions::Scheme::etdrk4;
  const Row waves = test::random_waves(32, 4);
  InsOptions ins;
  ins.points = {12, 16};
  ins.scheme = InsOptions::Scheme::ifrk4;
  ins.step = 0.005;
  ins.forcing = 1.0;
  ins.forcing_rate = 2.0;
  ins.viscosity = 0.01;
  const Row eddies = test::eddies(ins, 2);
  std::vector<double> dt, of_kdv, of_ins;
  for (double h : {0.04, 0.02, 0.01, 0.005}) {
    kdv.dt = ins.dt = h;
    dt.push_back(h);
    of_kdv.push_back(residual_of(*make_kdv(kdv, 1), *make_kdv_rhs(kdv, 1), waves, 0.0));
    of_ins.push_back(residual_of(*make_ins(ins, 1), *make_ins_rhs(ins, 1), eddies, 0.3));
  }

  EXPECT_NEAR(test::measured_order(dt, of_kdv), 2.0, 0.1);
  EXPECT_NEAR(test::measured_order(dt, of_ins), 2.0, 0.1);
}

}  // namespace
}  // namespace stap
