#include "stap/pde/ks.h"

#include <gtest/gtest.h>

#include "reference/spectral_line.h"
#include "stap/core/error.h"
#include "support/solving.h"
#include "support/spectral_rows.h"

namespace stap {
namespace {

using test::random_waves;
using test::solve_row;
using test::solve_rows;

KsOptions small(std::size_t points) {
  KsOptions options;
  options.points = points;
  options.length = 0.7 * static_cast<double>(points);
  options.dt = 0.75;
  return options;
}

// Rounding only, of a few steps.
TEST(Ks, AgreesWithThePlainTwin) {
  for (std::size_t n : {8u, 10u, 22u, 32u}) {
    const KsOptions options = small(n);
    std::vector<std::vector<double>> rows;
    for (std::uint64_t seed = 0; seed < 9; ++seed) rows.push_back(random_waves(n, seed));

    const std::vector<Answer> answers = solve_rows(*make_ks(options), rows);

    for (std::size_t r = 0; r < rows.size(); ++r) {
      ASSERT_EQ(answers[r].status, Answer::Status::ok) << answers[r].reason;
      const std::vector<double> expected =
          reference::etdrk4(reference::ks_line(n, options.length), rows[r], 0.25L, 3);
      EXPECT_LT(test::largest_difference(answers[r].states, expected), 1e-13) << n << " points";
    }
  }
}

// Against the twin with another factor of u_xxxx: rounding only, as above. In waves of these
// lengths k^4 is up to 400, so a factor that was forgotten shows in the first digit.
TEST(Ks, HasTheHyperviscosityThatItIsGiven) {
  for (double hyperviscosity : {0.25, 1.0, 3.5}) {
    KsOptions options = small(22);
    options.hyperviscosity = hyperviscosity;
    const std::vector<double> row = random_waves(22, 3);

    const std::vector<double> got = solve_row(*make_ks(options), row);

    EXPECT_LT(test::largest_difference(
                  got, reference::etdrk4(reference::ks_line(22, options.length, hyperviscosity),
                                         row, 0.25L, 3)),
              1e-13)
        << hyperviscosity;
  }
}

// Rows of many hyperviscosities in one call are those of solvers that have one, to the last bit,
// and again from coefficients that were kept. Mutation that breaks it: a block's table for its
// rows.
TEST(Ks, RowsMayHaveTheirOwnHyperviscosity) {
  const std::vector<double> values{1.0, 0.5, 2.0, 0.5, 0.8, 1.7, 3.0, 1.0, 0.6, 1.1};
  KsOptions options = small(24);
  options.hyperviscosity.draw = ParameterDraw{{}, ParameterDraw::Kind::list, values};
  const auto solver = make_ks(options);
  std::vector<Query> queries;
  for (std::size_t r = 0; r < values.size(); ++r)
    queries.push_back({.id = r, .state = random_waves(24, r), .params = {values[r]}});

  EXPECT_EQ(solver->parameters(), std::vector<std::string>{"hyperviscosity"});
  EXPECT_EQ(solver->with_step(1.5)->parameters(), std::vector<std::string>{"hyperviscosity"});
  EXPECT_EQ(solver->refusal({.state = random_waves(24, 0), .params = {0.0}}),
            "hyperviscosity is 0, expected above 0");
  for (int again = 0; again < 2; ++again)
    test::expect_rows_of_their_own(*solver, queries, [&](const std::vector<double>& own) {
      KsOptions fixed = options;
      fixed.hyperviscosity = own[0];
      return make_ks(fixed);
    });
}

TEST(Ks, TellsItsGridStepAndName) {
  KsOptions options;
  options.points = 64;
  options.length = 22.0;
  options.dt = 1.5;

  const auto solver = make_ks(options);

  EXPECT_EQ(solver->name(), "ks");
  EXPECT_EQ(solver->dt(), 1.5);
  EXPECT_EQ(solver->grid(), make_grid(1, {64}, {22.0}));
}

// Exact: constants solve the equation, and sums of 2^n equal values have no rounding.
TEST(Ks, ConstantStatesStay) {
  for (double value : {0.0, 1.5, -2.0}) {
    const std::vector<double> state(32, value);

    EXPECT_EQ(solve_row(*make_ks(small(32)), state), state);
  }
}

TEST(Ks, GuardRefusesLargeStatesWithoutCallingTheSolver) {
  std::vector<double> state(16, 0.0);
  state[5] = -100.5;

  const Answer answer = solve_rows(*make_ks(small(16)), {state})[0];

  EXPECT_EQ(answer.status, Answer::Status::refused);
  EXPECT_EQ(answer.attempts, 0);
  EXPECT_NE(answer.reason.find("100.5"), std::string::npos) << answer.reason;
}

// Mode k = 0.70 grows as exp(0.25 t), so 0.1 becomes 0.27 in four units of time.
TEST(Ks, RowThatPassesTheBoundFails) {
  KsOptions options = small(32);
  options.dt = 4;
  options.length = 4 * 2 * std::numbers::pi / 0.7;
  const auto wave = test::at_nodes(
      32, 1.0, [](double x) { return 0.1 * std::sin(2 * std::numbers::pi * 4 * x); });
  const std::vector<double> flat(32, 0.125);
  options.max_abs = 0.2;

  const std::vector<Answer> answers = solve_rows(*make_ks(options), {flat, wave});

  EXPECT_EQ(answers[0].states, flat);
  EXPECT_EQ(answers[1].status, Answer::Status::failed);
  EXPECT_TRUE(answers[1].states.empty());
  EXPECT_NE(answers[1].reason.find("max_abs = 0.2"), std::string::npos) << answers[1].reason;
}

TEST(Ks, NothingToDoIsFine) {
  make_ks({})->solve({}, {});
}

TEST(Ks, RefusesImpossibleOptions) {
  const auto kind_of = [](auto change) { return test::kind_of_error(make_ks, change); };
  const int config = static_cast<int>(ErrorKind::config);

  EXPECT_EQ(kind_of([](auto&) {}), 0);
  EXPECT_EQ(kind_of([](auto& o) { o.points = 6; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.points = 33; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.length = -1; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.hyperviscosity = 0.0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_abs = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_steps = 1; }), config);
  // dt must be a multiple of step, to 1e-9 of it.
  EXPECT_EQ(kind_of([](auto& o) { o.dt = 0.6; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.dt = 0.2; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.dt = 0.5 * (1 + 1e-8); }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.dt = 0.5 * (1 + 1e-10); }), 0);
  EXPECT_EQ(kind_of([](auto& o) {
              o.dt = 0.3;
              o.step = 0.1;
            }),
            0);
}

}  // namespace
}  // namespace stap
