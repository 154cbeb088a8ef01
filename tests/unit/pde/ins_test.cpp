#include "stap/pde/ins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "pde/ins_tables.h"
#include "reference/ins.h"
#include "stap/core/error.h"
#include "support/ins_flows.h"
#include "support/isas.h"
#include "support/solving.h"

namespace stap {
namespace {

using Scheme = InsOptions::Scheme;
using std::numbers::pi;
using test::eddies;
using test::Field;
using test::largest_difference;
using test::rough;
using test::solve_field;
using test::solve_fields;

constexpr Scheme kSchemes[] = {Scheme::crank_nicolson, Scheme::ifrk4};

// Everything that an option can change is there: unequal sides, mean flow, forcing that turns.
InsOptions busy(std::size_t nx, std::size_t ny, Scheme scheme) {
  InsOptions options;
  options.points = {nx, ny};
  options.lengths = {1.3, 0.9};
  options.viscosity = 3e-3;
  options.forcing = 0.7;
  options.forcing_rate = 0.8;
  options.mean_velocity = {0.3, -0.2};
  options.scheme = scheme;
  options.dt = 0.05;
  options.step = 0.0125;
  return options;
}

// Rows through the kernel of one instruction set, as the solver runs it.
std::vector<Field> advance(Isa isa, const InsOptions& options, const std::vector<Field>& rows,
                           const std::vector<double>& times) {
  const InsKernel& kernel = ins_kernel(isa);
  const InsTables tables(options, isa);
  const std::size_t lanes = kernel.lanes, values = rows[0].size();
  std::vector<double> w(values * lanes), work(kernel.work(tables.step));
  std::vector<Field> result;
  for (std::size_t first = 0; first < rows.size(); first += lanes) {
    const std::size_t count = std::min(lanes, rows.size() - first);
    for (std::size_t r = 0; r < lanes; ++r)
      for (std::size_t i = 0; i < values; ++i)
        w[i * lanes + r] = rows[first + (r < count ? r : 0)][i];
    LaneEnd ends[kMaxLanes];

    const LaneNumber forcing = test::all_lanes(options.forcing.value);
    InsRows own{.times = times.data() + first, .forcing = forcing.lane};
    std::ranges::fill(own.factors, tables.factors.data());
    kernel.advance(tables.step, own, count, w.data(), work.data(), ends);

    for (std::size_t r = 0; r < count; ++r) {
      EXPECT_EQ(ends[r].how, LaneEnd::How::finished);
      EXPECT_EQ(ends[r].steps, 4u);
      Field row(values);
      for (std::size_t i = 0; i < values; ++i) row[i] = w[i * lanes + r];
      result.push_back(row);
    }
  }
  return result;
}

// All modes of the grid are excited. Transforms and twin agree to rounding: 1e-12 of values of 1
// after four steps, where any slip in the scheme shows above 1e-6. 14 and 22 are not smooth, and
// for 12 and 18 the product keeps N/3 itself.
TEST(InsKernel, AgreesWithThePlainTwin) {
  const std::size_t grids[][2] = {{12, 8}, {8, 18}, {14, 10}, {8, 22}};
  const std::vector<double> times = {0.0, -0.03, -1.0, 1.7, 0.4};
  for (const auto& [nx, ny] : grids)
    for (Scheme scheme : kSchemes) {
      const InsOptions options = busy(nx, ny, scheme);
      const reference::Ins twin(options);
      std::vector<Field> rows, expected;
      for (std::size_t r = 0; r < times.size(); ++r) {
        rows.push_back(rough(options, r));
        expected.push_back(scheme == Scheme::ifrk4
                               ? twin.ifrk4(rows[r], times[r], 0.0125, 4)
                               : twin.crank_nicolson(rows[r], times[r], 0.0125, 4));
        EXPECT_GT(largest_difference(expected[r], rows[r]), 1e-3);
      }

      for (Isa isa : test::available_isas()) {
        const std::vector<Field> got = advance(isa, options, rows, times);

        for (std::size_t r = 0; r < rows.size(); ++r)
          EXPECT_LT(largest_difference(got[r], expected[r]), 1e-12)
              << to_string(isa) << ", " << nx << " x " << ny << ", row " << r;
      }
    }
}

TEST(Ins, TellsItsGridStepAndName) {
  InsOptions options;
  options.points = {16, 24};
  options.lengths = {1.0, 2.0};
  options.dt = 0.25;

  const auto solver = make_ins(options);

  EXPECT_EQ(solver->name(), "ins");
  EXPECT_EQ(solver->dt(), 0.25);
  EXPECT_EQ(solver->grid(), make_grid(1, {16, 24}, {1.0, 2.0}));
}

// Exact: without forcing, rest stays rest and a constant vorticity (which moves nothing) stays.
TEST(Ins, ConstantStatesStay) {
  for (Scheme scheme : kSchemes)
    for (double value : {0.0, 1.5}) {
      InsOptions options;
      options.points = {8, 8};
      options.forcing = 0.0;
      options.scheme = scheme;
      const Field state(64, value);

      EXPECT_EQ(solve_field(*make_ins(options), state), state);
    }
}

// dt / step is rounded: 16.1 / 1e-3 must be 16100 steps, not 16101.
TEST(Ins, CountsWholeNumbersOfSteps) {
  const auto accepts = [](double dt, double step, std::size_t max_steps) {
    InsOptions options;
    options.dt = dt;
    options.step = step;
    options.max_steps = max_steps;
    try {
      make_ins(options);
    } catch (const Error&) {
      return false;
    }
    return true;
  };

  EXPECT_TRUE(accepts(16.1, 0.0, 16100));
  EXPECT_FALSE(accepts(16.1, 0.0, 16099));
  EXPECT_TRUE(accepts(0.5, 0.0, 500));
  EXPECT_FALSE(accepts(0.5, 0.0, 499));
  for (int n : {3, 7, 49, 161, 999}) {
    EXPECT_TRUE(accepts(0.1 * n, 0.1, static_cast<std::size_t>(n)));
    EXPECT_FALSE(accepts(0.1 * n + 1e-3, 0.1, static_cast<std::size_t>(n)));
  }
  EXPECT_TRUE(accepts(0.01, 0.1, 1));
}

TEST(Ins, GuardRefusesLargeStatesWithoutCallingTheSolver) {
  const auto solver = make_ins({});
  Field state(32 * 32, 0.0);
  state[170] = -1000.5;

  const Answer answer = solve_fields(*solver, {state})[0];

  EXPECT_EQ(answer.status, Answer::Status::refused);
  EXPECT_EQ(answer.attempts, 0);
  EXPECT_NE(answer.reason.find("1000.5"), std::string::npos) << answer.reason;
}

// Forced from rest without viscosity, w = forcing t (sin p + cos p): its root mean square is
// forcing t, its maximum sqrt 2 times that.
InsOptions pushed(Scheme scheme, double dt) {
  InsOptions options;
  options.points = {8, 8};
  options.viscosity = 0.0;
  options.forcing = 10.0;
  options.max_abs = 1.0;
  options.scheme = scheme;
  options.dt = dt;
  options.step = 0.01;
  return options;
}

TEST(Ins, RowThatPassesTheBoundFailsAlone) {
  for (Scheme scheme : kSchemes) {
    InsOptions options = pushed(scheme, 0.12);
    options.max_abs = 1.05;  // the root mean square is 1 after ten steps
    const auto solver = make_ins(options);
    const Field rest(64, 0.0);
    const Field opposed = test::at_points(options, [](double x, double y) {
      return -0.6 * (std::sin(2 * pi * (x + y)) + std::cos(2 * pi * (x + y)));
    });

    const std::vector<Answer> answers = solve_fields(*solver, {opposed, rest, opposed});

    EXPECT_EQ(answers[1].status, Answer::Status::failed);
    EXPECT_EQ(answers[1].attempts, 1);
    EXPECT_TRUE(answers[1].states.empty());
    EXPECT_NE(answers[1].reason.find("max_abs = 1.05 "), std::string::npos) << answers[1].reason;
    EXPECT_NE(answers[1].reason.find("internal step 11"), std::string::npos) << answers[1].reason;
    const Field expected = solve_field(*solver, opposed);
    EXPECT_EQ(answers[0].states, expected);
    EXPECT_EQ(answers[2].states, expected);
  }
}

TEST(Ins, TheEndOfAStepIsCheckedPointByPoint) {
  for (Scheme scheme : kSchemes) {
    const Field rest(64, 0.0);

    const Answer below = solve_fields(*make_ins(pushed(scheme, 0.07)), {rest})[0];
    const Answer above = solve_fields(*make_ins(pushed(scheme, 0.08)), {rest})[0];

    EXPECT_EQ(below.status, Answer::Status::ok) << below.reason;  // max|w| = 0.99
    EXPECT_EQ(above.status, Answer::Status::failed);              // 1.13, though its rms is 0.8
  }
}

// Explicit steps far too large: the vorticity grows until it is not finite any more.
TEST(Ins, BlowUpIsAFailureOfThatRow) {
  InsOptions options;
  options.points = {16, 16};
  options.viscosity = 0.0;
  options.forcing = 0.0;
  options.dt = 100.0;
  options.step = 1.0;
  options.max_abs = 1e100;
  const auto solver = make_ins(options);
  const Field calm(256, 0.0), wild = rough(options, 1);

  const std::vector<Answer> answers = solve_fields(*solver, {calm, wild, calm});

  EXPECT_EQ(answers[1].status, Answer::Status::failed);
  EXPECT_EQ(answers[0].status, Answer::Status::ok) << answers[0].reason;
  EXPECT_EQ(answers[0].states, solve_field(*solver, calm));
  EXPECT_EQ(answers[2].states, answers[0].states);
}

TEST(Ins, RowThatNeedsTooManyStepsFails) {
  InsOptions options;
  options.points = {16, 16};
  options.scheme = Scheme::ifrk4;
  options.max_steps = 12;  // dt takes 10 of the largest steps
  const Field slow = eddies(options, 1, 0.5), fast = eddies(options, 2, 50.0);

  const std::vector<Answer> answers = solve_fields(*make_ins(options), {slow, fast, slow});

  EXPECT_EQ(answers[0].status, Answer::Status::ok) << answers[0].reason;
  EXPECT_EQ(answers[1].status, Answer::Status::failed);
  EXPECT_NE(answers[1].reason.find("max_steps = 12"), std::string::npos) << answers[1].reason;
  EXPECT_EQ(answers[2].states, answers[0].states);
}

TEST(Ins, NothingToDoIsFine) {
  make_ins({})->solve({}, {});
}

TEST(Ins, RefusesImpossibleOptions) {
  const auto kind_of = [](auto change) { return test::kind_of_error(make_ins, change); };
  const int config = static_cast<int>(ErrorKind::config);

  EXPECT_EQ(kind_of([](auto&) {}), 0);
  EXPECT_EQ(kind_of([](auto& o) { o.scheme = Scheme::ifrk4; }), 0);
  EXPECT_EQ(kind_of([](auto& o) { o.points = {32}; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.points = {32, 32, 32}; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.points = {6, 32}; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.points = {32, 15}; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.lengths = {1.0, 0.0}; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.lengths = {1.0}; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.mean_velocity = {1.0}; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.viscosity = -1e-9; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.forcing = std::numeric_limits<double>::infinity(); }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.dt = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.step = -0.1; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_abs = 0; }), config);
  EXPECT_EQ(kind_of([](auto& o) { o.max_steps = 499; }), config);
}

// Mutation that breaks it: a block's viscosity or forcing in place of the row's.
TEST(Ins, RowsMayHaveTheirOwnViscosityAndForcing) {
  const ParameterDraw draw{{}, ParameterDraw::Kind::uniform, {0.0, 1.0}};
  for (const Scheme scheme : kSchemes)
    for (const int which : {1, 2, 3}) {
      InsOptions options = busy(12, 10, scheme);
      if (which & 1) options.viscosity.draw = draw;
      if (which & 2) options.forcing.draw = draw;
      std::vector<Query> queries;
      for (std::uint64_t r = 0; r < 11; ++r) {
        const Rng rng(r);
        Field state(120);
        for (std::size_t i = 0; i < state.size(); ++i) state[i] = rng.uniform(i, -1, 1);
        queries.push_back({.id = r, .state = state, .time = 0.1 * static_cast<double>(r)});
        if (which & 1) queries[r].params.push_back(2e-3 * static_cast<double>(r % 4));
        if (which & 2) queries[r].params.push_back(0.3 * static_cast<double>(r % 5) - 0.5);
      }

      test::expect_rows_of_their_own(*make_ins(options), queries,
                                     [&](const std::vector<double>& own) {
                                       InsOptions fixed = options;
                                       if (which & 1) fixed.viscosity = own[0];
                                       if (which & 2) fixed.forcing = own.back();
                                       return make_ins(fixed);
                                     });
    }
}

}  // namespace
}  // namespace stap
