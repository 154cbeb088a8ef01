#include "stap/pde/burgers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "pde/burgers_kernels.h"
#include "reference/burgers.h"
#include "stap/core/error.h"
#include "stap/core/rng.h"
#include "support/refusals.h"
#include "support/solving.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::at_cells;
using test::burgers_options;
using test::solve_row;
using test::solve_rows;

// A few sines, rough and of both signs.
std::vector<double> random_row(std::size_t points, std::uint64_t seed) {
  const Rng rng(seed);
  return at_cells(points, 1.0, [&](double x) {
    double u = rng.uniform(0, -0.5, 0.5);
    for (std::uint64_t k = 1; k < 6; ++k)
      u += rng.uniform(k, -1, 1) *
           std::sin(2 * pi * static_cast<double>(k) * x + rng.uniform(10 + k, 0, 2 * pi));
    return u;
  });
}

// The lane kernel and the plain twin round differently (factors are multiplied in another order),
// and a rounding error may switch a limiter: 1e-11 over some hundred steps, where any slip in the
// scheme shows above 1e-4.
TEST(BurgersKernel, AgreesWithThePlainTwin) {
  for (std::size_t points : {4u, 5u, 17u, 100u, 256u})
    for (double diffusion : {0.0, 0.01 / pi, 0.05}) {
      const auto solver = make_burgers(burgers_options(points, 1.0, diffusion, 0.11));
      std::vector<std::vector<double>> rows;
      for (std::uint64_t seed = 0; seed < 9; ++seed) rows.push_back(random_row(points, seed));

      const std::vector<Answer> answers = solve_rows(*solver, rows);

      for (std::size_t r = 0; r < rows.size(); ++r) {
        ASSERT_EQ(answers[r].status, Answer::Status::ok) << answers[r].reason;
        const std::vector<double> expected = reference::burgers_step(
            rows[r], 1.0 / static_cast<double>(points), diffusion, 0.11, 0.25);
        for (std::size_t i = 0; i < points; ++i)
          ASSERT_NEAR(answers[r].states[i], expected[i], 1e-11)
              << points << " points, D = " << diffusion << ", row " << r << ", cell " << i;
      }
    }
}

// Rows of many viscosities in one call are those of solvers that have one, to the last bit; also
// after a change of the step, and whatever is beside them. Mutation that breaks it: a block's
// viscosity in place of the row's.
TEST(Burgers, RowsMayHaveTheirOwnViscosity) {
  const std::vector<double> viscosities{0.0, 0.01, 0.3, 0.02, 0.05, 1e-3, 0.01, 0.2, 0.004, 0.07};
  BurgersOptions options;
  options.points = 50;
  options.dt = 0.2;
  options.viscosity.draw = ParameterDraw{{}, ParameterDraw::Kind::list, viscosities};
  const auto solver = make_burgers(options);
  std::vector<Query> queries;
  for (std::size_t r = 0; r < viscosities.size(); ++r)
    queries.push_back({.id = r, .state = random_row(50, r), .params = {viscosities[r]}});

  EXPECT_EQ(solver->parameters(), std::vector<std::string>{"viscosity"});
  EXPECT_EQ(solver->with_step(0.1)->parameters(), std::vector<std::string>{"viscosity"});
  EXPECT_EQ(solver->refusal({.state = random_row(50, 0), .params = {-0.5}}),
            "viscosity is -0.5, expected 0 or more");
  test::expect_rows_of_their_own(*solver, queries, [&](const std::vector<double>& own) {
    BurgersOptions fixed = options;
    fixed.viscosity = own[0];
    return make_burgers(fixed);
  });
}

TEST(Burgers, TheLargestViscosityTellsWhetherItsStepCanBeMade) {
  BurgersOptions options;
  options.max_steps = 10000;
  options.viscosity.draw = ParameterDraw{{}, ParameterDraw::Kind::uniform, {0.001, 0.01}};
  EXPECT_NO_THROW(make_burgers(options));
  options.viscosity.draw->values[1] = 1.0;
  test::expect_error(ErrorKind::config, "above max_steps", [&] { make_burgers(options); });
}

TEST(Burgers, TellsItsGridStepAndName) {
  BurgersOptions options;
  options.points = 64;
  options.length = 2.0;
  options.dt = 0.1;

  const auto solver = make_burgers(options);

  EXPECT_EQ(solver->name(), "burgers");
  EXPECT_EQ(solver->dt(), 0.1);
  EXPECT_EQ(solver->grid(), make_grid(1, {64}, {2.0}));
}

// Exact: a constant state solves the equation for any viscosity, and 0 has no speed limit at all.
TEST(Burgers, ConstantStatesStay) {
  for (double viscosity : {0.0, 0.01})
    for (double value : {0.0, -0.0, 1.5, -2.0}) {
      BurgersOptions options;
      options.viscosity = viscosity;
      const std::vector<double> state(options.points, value);

      EXPECT_EQ(solve_row(*make_burgers(options), state), state);
    }
}

TEST(Burgers, GuardRefusesLargeStatesWithoutCallingTheSolver) {
  const auto solver = make_burgers({});
  std::vector<double> state(256, 0.0);
  state[17] = -100.5;

  const Answer answer = solve_rows(*solver, {state})[0];

  EXPECT_EQ(answer.status, Answer::Status::refused);
  EXPECT_EQ(answer.attempts, 0);
  EXPECT_TRUE(answer.states.empty());
  EXPECT_NE(answer.reason.find("100.5"), std::string::npos) << answer.reason;
}

TEST(Burgers, RowThatNeedsTooManyStepsFails) {
  BurgersOptions options;
  options.viscosity = 0;
  options.dt = 1.0;
  options.max_steps = 500;
  // Cell width 1/256 and cfl 1/4: 1024 |u| internal steps at least.
  const std::vector<double> slow(256, 0.25), fast(256, 4.0);

  const std::vector<Answer> answers = solve_rows(*make_burgers(options), {slow, fast, slow});

  EXPECT_EQ(answers[0].status, Answer::Status::ok);
  EXPECT_EQ(answers[1].status, Answer::Status::failed);
  EXPECT_EQ(answers[1].attempts, 1);
  EXPECT_TRUE(answers[1].states.empty());
  EXPECT_NE(answers[1].reason.find("max_steps = 500"), std::string::npos) << answers[1].reason;
  EXPECT_EQ(answers[2].states, answers[0].states);
}

// With h far beyond the stability limit one lane grows without bound; the row beside it, which is
// constant, must not notice.
TEST(BurgersKernel, UnstableLaneEndsAndLeavesTheOthersAlone) {
  const BurgersKernel& kernel = portable::kBurgersKernel;
  const std::size_t points = 32, cells = (points + 2 * kBurgersGhosts) * kernel.lanes;
  ASSERT_GE(kernel.lanes, 2u);
  std::vector<double> u(cells, 0.0), work(cells);
  for (std::size_t i = 0; i < points; ++i) {
    u[(i + kBurgersGhosts) * kernel.lanes] = (i % 2 == 0) ? 1.0 : -1.0;
    u[(i + kBurgersGhosts) * kernel.lanes + 1] = 0.5;
  }
  const BurgersStep step{
      .points = points, .dx = 1.0 / 32, .dt = 1.0, .cfl = 20.0, .bound = 1e6, .max_steps = 1000};
  LaneEnd ends[2];

  kernel.advance(step, 2, test::all_lanes(0.1).lane, u.data(), work.data(), ends);

  EXPECT_EQ(ends[0].how, LaneEnd::How::unbounded);
  EXPECT_EQ(ends[1].how, LaneEnd::How::finished);
  for (std::size_t i = 0; i < points; ++i)
    EXPECT_EQ(u[(i + kBurgersGhosts) * kernel.lanes + 1], 0.5);
}

TEST(Burgers, NothingToDoIsFine) {
  make_burgers({})->solve({}, {});
}

TEST(Burgers, RefusesImpossibleOptions) {
  const auto kind_of = [](auto change) { return test::kind_of_error(make_burgers, change); };
  const int config = static_cast<int>(ErrorKind::config);

  EXPECT_EQ(kind_of([](auto&) {}), 0);
  EXPECT_EQ(kind_of([](auto& o) { o.points = 3; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.length = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.viscosity = -1e-9; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.dt = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.dt = std::numeric_limits<double>::quiet_NaN(); }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.cfl = 1.5; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_abs = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_steps = 0; }), config);
  // Diffusion at 2^20 points needs 1e10 internal steps: said at once, not tried.
  EXPECT_EQ(kind_of([](auto& o) { o.points = std::size_t{1} << 20; }), config);
}

}  // namespace
}  // namespace stap
