#include "stap/eval/hybrid.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "stap/eval/hybrid_loop.h"
#include "support/function_committee.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::expect_error;
using test::FunctionCommittee;

constexpr double kInf = std::numeric_limits<double>::infinity();

// One channel, factors of all kinds: 2 from a first state, 1 from any.
ErrorBars bars_of(std::size_t steps) {
  ErrorBars bars{.level = 0.9, .trajectories = 9, .steps = steps, .floor = {1e-6}};
  bars.first.assign(3 * steps, 2.0);
  bars.any.assign(3 * steps, 1.0);
  bars.together = 1;
  return bars;
}

TEST(HybridTurns, GoBackToTheLastStateOfTheSolver) {
  HybridTurns turns(bars_of(9), {.tolerance = 1, .steps = 6});

  EXPECT_EQ(turns.drafted(0.25), 0.5);
  EXPECT_EQ(turns.drafted(0.5), 1.0);  // just within
  EXPECT_EQ(turns.step(), 2u);
  EXPECT_EQ(turns.drafted(0.51), 1.02);
  ASSERT_EQ(turns.next(), Turn::solver);
  EXPECT_EQ(turns.step(), 0u);  // from the input, not from state 2
  turns.solved();
  ASSERT_EQ(turns.next(), Turn::surrogate);  // tried again after one step
  EXPECT_EQ(turns.base(), 1u);
  for (int step = 1; step < 6; ++step) EXPECT_EQ(turns.drafted(0.9), 0.9);  // no first state now
  EXPECT_EQ(turns.next(), Turn::done);
  EXPECT_EQ(turns.solver_steps(), 1u);
  EXPECT_FALSE(turns.beyond());
}

// Where the surrogate fails at its first step, after 1, 2, 4, 8, 8, ... steps; where it came
// further, after one.
TEST(HybridTurns, TryTheSurrogateMoreRarelyWhereItFailsAtOnce) {
  HybridTurns turns(bars_of(99), {.tolerance = 1, .steps = 40});
  std::vector<std::size_t> runs;

  for (int attempt = 0; attempt < 6; ++attempt) {
    if (attempt == 5) turns.drafted(0.1);
    turns.drafted(3);
    runs.push_back(0);
    for (; turns.next() == Turn::solver; turns.solved()) ++runs.back();
  }

  EXPECT_EQ(runs, (std::vector<std::size_t>{1, 2, 4, 8, 8, 1}));
}

TEST(HybridTurns, OfASolverThatIsUsedUpOrFailsSayThatTheyAreBeyond) {
  HybridTurns capped(bars_of(9), {.tolerance = 1, .steps = 3, .most = 1});
  capped.drafted(3);
  capped.solved();
  EXPECT_EQ(capped.drafted(3), 3.0);
  EXPECT_EQ(capped.next(), Turn::surrogate);
  EXPECT_EQ(capped.drafted(0.5), 0.5);
  EXPECT_EQ(capped.next(), Turn::done);
  EXPECT_TRUE(capped.beyond());
  EXPECT_EQ(capped.solver_steps(), 1u);

  HybridTurns failed(bars_of(9), {.tolerance = 1, .steps = 2, .from_any = true});
  EXPECT_EQ(failed.drafted(1), 1.0);  // factors of any state at once
  failed.drafted(2);
  failed.give_up();
  EXPECT_EQ(failed.step(), 0u);
  EXPECT_EQ(failed.drafted(1), 1.0);
  EXPECT_EQ(failed.drafted(2), 2.0);
  EXPECT_EQ(failed.next(), Turn::done);
  EXPECT_TRUE(failed.beyond());
}

TEST(HybridTurns, HaveNoBoundBehindTheCalibrationOrWhatDiverged) {
  HybridTurns turns(bars_of(2), {.tolerance = 1, .steps = 9});
  turns.drafted(0.1);
  turns.drafted(0.1);
  EXPECT_EQ(turns.drafted(0.1), kInf);
  EXPECT_EQ(turns.next(), Turn::solver);
  turns.solved();
  EXPECT_EQ(turns.drafted(kInf), kInf);

  HybridTurns alone(bars_of(9), {.tolerance = 1, .steps = 3, .most = 0});
  alone.drafted(std::nan(""));
  EXPECT_EQ(alone.drafted(0.1), kInf);  // what has diverged stays so
  EXPECT_TRUE(alone.beyond());
  expect_error(ErrorKind::config, "a tolerance of 0 is none",
               [] { HybridTurns(bars_of(2), {.tolerance = 0, .steps = 1}); });
}

TEST(DraftLength, FollowsWhatIsAccepted) {
  DraftLength length(8);
  std::vector<std::size_t> lengths;
  for (const std::size_t accepted : {8U, 3U, 5U, 0U, 0U, 0U, 0U, 1U, 2U}) {
    length.checked(accepted);
    lengths.push_back(length.next());
  }

  EXPECT_EQ(lengths, (std::vector<std::size_t>{8, 8, 8, 4, 2, 1, 1, 8, 8}));
}

// 211 steps are paid for 200, whatever the number of slots.
TEST(DraftLength, MakesAUselessSurrogateCheap) {
  DraftLength length(8);
  std::size_t paid = 0;
  for (std::size_t step = 0; step < 200; ++step) {
    paid += length.next();
    length.checked(0);
  }

  EXPECT_EQ(paid, 211u);
}

TEST(AcceptedSteps, AreTheLongestBeginningWithin) {
  EXPECT_EQ(accepted_steps(std::vector{0.1, 1.0, 1.1, 0.2}, 1.0), 2u);
  EXPECT_EQ(accepted_steps(std::vector{0.1, std::nan(""), 0.1}, 1.0), 1u);
  EXPECT_EQ(accepted_steps(std::vector{kInf}, 1.0), 0u);
  EXPECT_EQ(accepted_steps({}, 1.0), 0u);
  // Two channels of two points: the sum of their mean squares, (4 + 0)/2 + (0 + 16)/2 = 10.
  EXPECT_EQ(state_distance(std::vector{2.0, 0.0, 1.0, 4.0}, std::vector{0.0, 0.0, 1.0, 0.0}, 2),
            std::sqrt(10.0));
}

// Members add 1 and 1 + 2 d a step: the mean adds 1 + d, the spread is h d after h steps. The
// solver adds 10. With d = 0.5, factors of 2 and 1 and a tolerance of 1.2 the first bar is 1, the
// second 2; after a step of the solver they are 0.5, 1, 1.5.
TEST(HybridLoop, DrivesOneTrajectory) {
  const Grid grid = make_grid(1, {2}, {1.0});
  FunctionCommittee committee(
      grid, {[](float v, double) { return v + 1; }, [](float v, double) { return v + 2; }});
  const ErrorBars bars = bars_of(9);
  HybridLoop loop(committee, bars, {.tolerance = 1.2, .steps = 4}, std::vector{3.0, 3.0});
  std::vector<std::size_t> asked;

  while (loop.next() == Turn::solver) {
    asked.push_back(loop.step());
    std::vector<double> state(loop.state(loop.step()).begin(), loop.state(loop.step()).end());
    for (double& v : state) v += 10;
    loop.solved(state);
  }

  // From state 1 the surrogate reaches 3, from state 2 the end.
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(loop.next(), Turn::done);
  EXPECT_EQ(loop.state(1)[0], 13);
  EXPECT_EQ(loop.state(2)[1], 23);
  EXPECT_EQ(loop.state(4)[0], 26);
  EXPECT_EQ(loop.bar(2), 0);
  EXPECT_EQ(loop.bar(3), 0.5);
  EXPECT_EQ(loop.bar(4), 1.0);
  EXPECT_TRUE(loop.by_solver(2));
  EXPECT_FALSE(loop.by_solver(3));
  EXPECT_FALSE(loop.beyond());
  expect_error(ErrorKind::data, "a state of 3 values", [&] {
    HybridLoop(committee, bars, {.tolerance = 1, .steps = 4}, std::vector{1.0, 1.0, 1.0});
  });
}

}  // namespace
}  // namespace stap
