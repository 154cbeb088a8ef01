#include "stap/pde/kdv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "core/buffer.h"
#include "pde/kdv_kernels.h"
#include "pde/line_solver.h"
#include "reference/spectral_line.h"
#include "stap/core/error.h"
#include "support/isas.h"
#include "support/solving.h"
#include "support/spectral_rows.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::random_waves;
using test::solve_row;
using test::solve_rows;
using KdvScheme = KdvOptions::Scheme;

KdvOptions small(std::size_t points, KdvScheme scheme) {
  KdvOptions options;
  options.points = points;
  options.length = 0.5 * static_cast<double>(points);
  options.dt = 0.2;
  options.scheme = scheme;
  return options;
}

// Step sizes follow from error estimates, which are differences 1e-6 small: rounding shows in them
// at 1e-10, and in the states at 1e-10 of the error of a step. What is left is rounding of the
// states themselves; the rows are rough, or modes of 1e-16 would grow, at the limit of stability,
// to something that only rounding decides. A wrong weight shows above 1e-7, or in the number of
// steps.
TEST(KdvKernel, AgreesWithThePlainTwinOnEveryInstructionSet) {
  for (const Isa isa : test::available_isas())
    for (std::size_t n : {8u, 10u, 22u, 32u}) {
      const KdvKernel& kernel = STAP_CHOOSE_ISA(isa, kKdvKernel);
      const std::size_t lanes = kernel.lanes;
      const Grid grid = make_grid(1, {n}, {0.5 * static_cast<double>(n)});
      const FftPlan<double> plan(n, isa);
      std::vector<double> table(2 * (n / 2 + 1), 0.0);
      for (std::size_t j = 0; j < n / 2; ++j) {
        const double k = wave_number(grid, j);
        table[2 * j] = k / 2 / static_cast<double>(n);
        table[2 * j + 1] = std::pow(k, 3);
      }
      const KdvStep step{.fft = line_fft(plan),
                         .table = table.data(),
                         .dt = 0.05,
                         .atol = 1e-6,
                         .rtol = 1e-8,
                         .bound = 100,
                         .max_steps = 1000};
      Buffer<double> u(n * lanes), work(kernel.work(step.fft));
      std::vector<std::vector<double>> rows;
      for (std::size_t r = 0; r < lanes; ++r) {
        rows.push_back(random_waves(n, 100 + r));
        for (std::size_t i = 0; i < n; ++i) {
          rows[r][i] += 1e-2 * Rng(r).normal(i);
          u.data()[i * lanes + r] = rows[r][i];
        }
      }
      LaneEnd ends[kMaxLanes];

      kernel.advance(step, lanes, u.data(), work.data(), ends);

      for (std::size_t r = 0; r < lanes; ++r) {
        std::size_t taken = 0;
        const std::vector<double> expected = reference::dopri5(
            reference::kdv_line(n, grid.lengths[0]), rows[r], 0.05, 1e-6, 1e-8, taken);
        EXPECT_EQ(ends[r].how, LaneEnd::How::finished);
        EXPECT_EQ(ends[r].steps, taken);
        EXPECT_GT(taken, 5u);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_NEAR(u.data()[i * lanes + r], expected[i], 1e-13) << n << " points, row " << r;
      }
    }
}

// Rounding only, of a few steps.
TEST(Kdv, ExponentialStepsAgreeWithThePlainTwin) {
  for (std::size_t n : {8u, 10u, 22u, 32u}) {
    KdvOptions options = small(n, KdvScheme::etdrk4);
    options.step = 0.03;  // 7 steps of 0.2 / 7
    std::vector<std::vector<double>> rows;
    for (std::uint64_t seed = 0; seed < 5; ++seed) rows.push_back(random_waves(n, seed));

    const std::vector<Answer> answers = solve_rows(*make_kdv(options), rows);

    for (std::size_t r = 0; r < rows.size(); ++r) {
      ASSERT_EQ(answers[r].status, Answer::Status::ok) << answers[r].reason;
      const std::vector<double> expected =
          reference::etdrk4(reference::kdv_line(n, options.length), rows[r], 0.2L / 7, 7);
      EXPECT_LT(test::largest_difference(answers[r].states, expected), 1e-13) << n << " points";
    }
  }
}

TEST(Kdv, TellsItsGridStepAndName) {
  KdvOptions options;
  options.points = 64;
  options.length = 32.0;
  options.dt = 0.1;
  for (KdvScheme scheme : {KdvScheme::dopri5, KdvScheme::etdrk4}) {
    options.scheme = scheme;

    const auto solver = make_kdv(options);

    EXPECT_EQ(solver->name(), "kdv");
    EXPECT_EQ(solver->dt(), 0.1);
    EXPECT_EQ(solver->grid(), make_grid(1, {64}, {32.0}));
  }
}

// Exact: constants solve the equation, and sums of 2^n equal values have no rounding.
TEST(Kdv, ConstantStatesStay) {
  for (KdvScheme scheme : {KdvScheme::dopri5, KdvScheme::etdrk4})
    for (double value : {0.0, 1.5, -2.0}) {
      const std::vector<double> state(32, value);

      EXPECT_EQ(solve_row(*make_kdv(small(32, scheme)), state), state);
    }
}

TEST(Kdv, GuardRefusesLargeStatesWithoutCallingTheSolver) {
  for (KdvScheme scheme : {KdvScheme::dopri5, KdvScheme::etdrk4}) {
    KdvOptions options = small(16, scheme);
    options.max_abs = 3;
    std::vector<double> state(16, 0.0);
    state[5] = -3.25;

    const Answer answer = solve_rows(*make_kdv(options), {state})[0];

    EXPECT_EQ(answer.status, Answer::Status::refused);
    EXPECT_EQ(answer.attempts, 0);
    EXPECT_NE(answer.reason.find("3.25"), std::string::npos) << answer.reason;
  }
}

// A long wave of amplitude 1 breaks up into solitons that are twice as tall.
TEST(Kdv, RowThatPassesTheBoundFails) {
  for (KdvScheme scheme : {KdvScheme::dopri5, KdvScheme::etdrk4}) {
    KdvOptions options;
    options.points = 64;
    options.length = 40;
    options.dt = 15;
    options.scheme = scheme;
    const auto wave = test::at_nodes(64, 40, [](double x) { return std::cos(2 * pi * x / 40); });
    const std::vector<double> flat(64, 0.25);
    const Answer unbounded = solve_rows(*make_kdv(options), {wave})[0];
    options.max_abs = 1.3;

    const std::vector<Answer> answers = solve_rows(*make_kdv(options), {flat, wave});

    EXPECT_EQ(unbounded.status, Answer::Status::ok) << unbounded.reason;
    EXPECT_EQ(answers[0].states, flat);
    EXPECT_EQ(answers[1].status, Answer::Status::failed);
    EXPECT_TRUE(answers[1].states.empty());
    EXPECT_NE(answers[1].reason.find("max_abs = 1.3"), std::string::npos) << answers[1].reason;
  }
}

TEST(Kdv, RowThatNeedsTooManyStepsFails) {
  KdvOptions options = small(32, KdvScheme::dopri5);
  options.max_steps = 10;
  const std::vector<double> still(32, 1.0);

  const std::vector<Answer> answers =
      solve_rows(*make_kdv(options), {still, random_waves(32, 1), still});

  EXPECT_EQ(answers[0].states, still);
  EXPECT_EQ(answers[1].status, Answer::Status::failed);
  EXPECT_NE(answers[1].reason.find("max_steps = 10"), std::string::npos) << answers[1].reason;
  EXPECT_EQ(answers[2].states, still);
}

// Rounding alone is above such a tolerance, however small the step.
TEST(Kdv, RowWhoseStepVanishesFails) {
  KdvOptions options = small(16, KdvScheme::dopri5);
  options.atol = 1e-40;
  options.rtol = 0;

  const Answer answer = solve_rows(*make_kdv(options), {random_waves(16, 1)})[0];

  EXPECT_EQ(answer.status, Answer::Status::failed);
  EXPECT_NE(answer.reason.find("vanishing"), std::string::npos) << answer.reason;
}

TEST(Kdv, NothingToDoIsFine) {
  make_kdv({})->solve({}, {});
}

TEST(Kdv, RefusesImpossibleOptions) {
  const auto kind_of = [](auto change) { return test::kind_of_error(make_kdv, change); };
  const int config = static_cast<int>(ErrorKind::config);

  EXPECT_EQ(kind_of([](auto&) {}), 0);
  EXPECT_EQ(kind_of([](auto& o) { o.points = 6; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.points = 33; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.length = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.dt = std::numeric_limits<double>::infinity(); }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.atol = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.rtol = -1; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.step = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_abs = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_steps = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) {
              o.scheme = KdvScheme::etdrk4;
              o.step = 1e-3;
              o.max_steps = 3999;
            }),
            config);
}

}  // namespace
}  // namespace stap
