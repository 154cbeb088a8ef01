// FitzHugh-Nagumo against exact decay, conserved integrals, symmetries and a slow twin.
#include "stap/pde/fhn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "reference/fhn.h"
#include "stap/core/rng.h"
#include "support/order.h"
#include "support/solving.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::solve_row;
using Row = std::vector<double>;

FhnOptions options_on(std::size_t nx, std::size_t ny) {
  FhnOptions options;
  options.points = {nx, ny};
  options.lengths = {2.0, 1.5};
  return options;
}

Row noise(const FhnOptions& options, std::uint64_t seed = 1) {
  Row row(2 * options.points[0] * options.points[1]);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = Rng(seed).normal(i);
  return row;
}

// cos(pi mx x / X) cos(pi my y / Y) in both channels, whose slope is 0 at the walls.
Row cosines(const FhnOptions& options, int mx, int my) {
  const std::size_t nx = options.points[0], ny = options.points[1];
  Row row(2 * nx * ny);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double x = (static_cast<double>(i / ny % nx) + 0.5) / static_cast<double>(nx);
    const double y = (static_cast<double>(i % ny) + 0.5) / static_cast<double>(ny);
    row[i] = std::cos(pi * mx * x) * std::cos(pi * my * y);
  }
  return row;
}

reference::Fhn twin_of(const FhnOptions& o, const Solver& solver) {
  reference::Fhn twin{o.points[0],
                      o.points[1],
                      solver.grid().spacing(0),
                      solver.grid().spacing(1),
                      o.du.value,
                      o.dv.value,
                      o.k.value,
                      o.reaction};
  twin.ring_x = solver.grid().end(0) == Boundary::periodic;
  twin.ring_y = solver.grid().end(1) == Boundary::periodic;
  if (const auto fixed = solver.fixed())
    for (const std::uint8_t open : fixed->mask) twin.closed.push_back(open == 0);
  return twin;
}

double largest_difference(const Row& a, const Row& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Differences of a cosine between walls are that cosine again: 4/dx^2 sin^2(pi m / 2 N) less of it,
// with errors of the time steps only (below 1e-9 with steps of 1e-3). Broken by: a wall at a centre
// of a cell, a flux through it, a diffusivity in the wrong channel, dx for dy.
TEST(FhnExact, CosinesDecayAtTheirRate) {
  FhnOptions options = options_on(12, 9);
  options.reaction = 0;
  options.du = 0.02;
  options.dv = 0.07;
  options.step = 1e-3;
  for (const auto& [mx, my] : {std::pair(1, 0), {0, 1}, {3, 2}, {11, 8}}) {
    const Row from = cosines(options, mx, my);

    const Row to = solve_row(*make_fhn(options), from);

    const auto part = [](int m, double n, double length) {
      return std::pow(2 * n / length * std::sin(pi * m / (2 * n)), 2);
    };
    const double rate = part(mx, 12, 2.0) + part(my, 9, 1.5);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const double d = i < from.size() / 2 ? 0.02 : 0.07;
      EXPECT_NEAR(to[i], from[i] * std::exp(-d * rate * options.dt), 1e-9) << mx << my << i;
    }
  }
}

// Against the equation's own rate, pi^2 (mx^2 / X^2 + my^2 / Y^2).
TEST(FhnExact, SecondOrderInSpace) {
  std::vector<double> dx, error;
  for (const std::size_t points : {12u, 18u, 27u, 40u}) {
    FhnOptions options = options_on(points, points);
    options.reaction = 0;
    options.du = options.dv = 0.05;
    options.step = 2e-3;
    const Row from = cosines(options, 2, 1);

    const Row to = solve_row(*make_fhn(options), from);

    const double rate = pi * pi * (4 / 4.0 + 1 / 2.25);
    Row exact = from;
    for (double& value : exact) value *= std::exp(-0.05 * rate * options.dt);
    dx.push_back(1.0 / static_cast<double>(points));
    error.push_back(largest_difference(to, exact));
  }
  EXPECT_NEAR(test::measured_order(dx, error), 2.0, 0.05);
}

// Both terms together, against the twin with steps so small that its own errors do not count.
TEST(FhnExact, FourthOrderInTime) {
  FhnOptions options = options_on(7, 5);
  options.du = options.dv = 1e-3;
  options.dt = 1.0;
  Row from = noise(options);
  for (double& value : from) value *= 0.5;
  const Row exact = twin_of(options, *make_fhn(options)).advance(from, options.dt, 4000);
  std::vector<double> steps, error;
  for (const double parts : {20.0, 30.0, 45.0, 70.0}) {
    options.step = options.dt / parts;

    steps.push_back(options.step);
    error.push_back(largest_difference(solve_row(*make_fhn(options), from), exact));
  }
  EXPECT_NEAR(test::measured_order(steps, error), 4.0, 0.2);
}

// White noise on odd sizes, walls on each axis or none, with a hole that a ring's seam cuts. The
// same steps, so that nothing differs but rounding: of 100 steps and values of about 3.
TEST(FhnTwin, AgreesWithWallsRingsAndHoles) {
  for (const auto& walls : {std::vector<std::string>{"centres", "centres"},
                            {"periodic", "centres"},
                            {"centres", "periodic"},
                            {"periodic", "periodic"}})
    for (const bool holed : {false, true}) {
      FhnOptions options = options_on(9, 7);
      options.walls = walls;
      options.step = 5e-3;
      if (holed) options.hole = {0.3, 0.2, 0.5};
      const auto solver = make_fhn(options);
      Row from = noise(options);
      if (holed) clear_masked(solver->fixed().get(), from);

      const Row to = solve_row(*solver, from);

      const Row expected = twin_of(options, *solver).advance(from, options.dt, 100);
      EXPECT_LT(largest_difference(to, expected), 1e-12) << walls[0] << walls[1] << holed;
    }
}

// Of diffusion alone the sums stay, walls and hole or not: to the rounding of some 500 sums.
// Broken by: a flux that leaves one cell and does not enter the next.
TEST(FhnLaws, DiffusionKeepsIntegrals) {
  FhnOptions options = options_on(16, 11);
  options.reaction = 0;
  options.hole = {0.9, 0.7, 0.4};
  const auto solver = make_fhn(options);
  Row from = noise(options);
  clear_masked(solver->fixed().get(), from);

  const Row to = solve_row(*solver, from);

  const auto half = static_cast<std::ptrdiff_t>(from.size() / 2);
  EXPECT_LT(counted_points(solver->grid(), solver->fixed().get()), 16u * 11u);
  for (const std::ptrdiff_t first : {std::ptrdiff_t{0}, half})
    EXPECT_NEAR(std::accumulate(to.begin() + first, to.begin() + first + half, 0.0),
                std::accumulate(from.begin() + first, from.begin() + first + half, 0.0), 1e-11);
  EXPECT_GT(largest_difference(from, to), 0.1);
}

// Bit for bit: sums of two are the same from either side. Broken by: walls at points instead of
// centres, an axis for the other, a hole that is not where it is said to be.
TEST(FhnLaws, MirrorsAndSwapsCommute) {
  FhnOptions options;
  options.points = {10, 10};
  options.hole = {1.0, 1.0, 0.35};
  const auto solver = make_fhn(options);
  Row from = noise(options);
  clear_masked(solver->fixed().get(), from);
  const Row to = solve_row(*solver, from);
  for (const char* text : {"x -> -x", "y -> -y", "x -> y, y -> x"}) {
    const StateMap map =
        make_state_map(parse_symmetry(text, solver->grid(), solver->channels()), solver->grid());
    Row image(from.size()), expected(from.size());
    map_state(map, from.data(), image.data());
    map_state(map, to.data(), expected.data());

    EXPECT_EQ(solve_row(*solver, image), expected) << text;
  }
}

// Mutation: a masked cell that is read, or an answer with anything there.
TEST(FhnLaws, WhatIsInTheHoleChangesNothing) {
  FhnOptions options = options_on(12, 9);
  options.hole = {1.0, 0.7, 0.4};
  const auto solver = make_fhn(options);
  const std::vector<std::uint8_t>& mask = solver->fixed()->mask;
  Row from = noise(options), other = from;
  for (std::size_t v = 0; v < from.size(); ++v)
    if (mask[v % mask.size()] == 0) other[v] = -50.0;

  const Row to = solve_row(*solver, from);

  EXPECT_EQ(solve_row(*solver, other), to);
  for (std::size_t v = 0; v < to.size(); ++v)
    if (mask[v % mask.size()] == 0) {
      EXPECT_EQ(to[v], 0.0);
    }
}

TEST(FhnLaws, RowsHaveParametersOfTheirOwn) {
  FhnOptions options = options_on(8, 6);
  const auto between = [](double low, double high) {
    config::Quantity quantity;
    quantity.draw = ParameterDraw{"", ParameterDraw::Kind::uniform, {low, high}};
    return quantity;
  };
  options.du = between(1e-3, 1e-1);
  options.k = between(0, 1);
  const auto solver = make_fhn(options);
  EXPECT_EQ(solver->parameters(), (std::vector<std::string>{"du", "k"}));
  std::vector<Query> queries;
  for (std::uint64_t i = 0; i < 11; ++i)
    queries.push_back(
        {.id = i,
         .state = noise(options, i),
         .params = {1e-3 + 9e-3 * static_cast<double>(i), 0.1 * static_cast<double>(i)}});

  test::expect_rows_of_their_own(*solver, queries, [&](const std::vector<double>& params) {
    FhnOptions plain = options;
    plain.du = params[0];
    plain.k = params[1];
    return make_fhn(plain);
  });
}

TEST(FhnOptionsTest, ImpossibleOnesAreRefused) {
  const auto kind = [](auto change) { return test::kind_of_error(&make_fhn, change); };
  const int config = static_cast<int>(ErrorKind::config);

  EXPECT_EQ(kind([](FhnOptions&) {}), 0);
  EXPECT_EQ(kind([](FhnOptions& o) { o.walls = {"points", "centres"}; }), config);
  EXPECT_EQ(kind([](FhnOptions& o) { o.walls = {"centres", "wall"}; }), config);
  EXPECT_EQ(kind([](FhnOptions& o) { o.hole = {1.0, 1.0}; }), config);
  EXPECT_EQ(kind([](FhnOptions& o) { o.hole = {1.0, 1.0, 5.0}; }), config);  // nothing is left
  EXPECT_EQ(kind([](FhnOptions& o) { o.du = -1.0; }), config);
}

}  // namespace
}  // namespace stap
