#include "stap/eval/rollout.h"

#include <gtest/gtest.h>

#include <vector>

#include "stap/core/error.h"
#include "stap/eval/calibration.h"
#include "stap/eval/metrics.h"
#include "support/function_committee.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::FunctionCommittee;

// States of one point: 10, 20, ...
States<float> some_states(std::size_t count) {
  States<float> states(make_grid(1, {1}, {1.0}), count);
  for (std::size_t b = 0; b < count; ++b) states.row(b)[0] = 10.0f * static_cast<float>(b + 1);
  return states;
}

// One member that adds 1, and at time t another 100 t.
FunctionCommittee timed_committee(const Grid& grid) {
  return {grid, {[](float value, double time) {
            return value + 1.0f + 100.0f * static_cast<float>(time);
          }}};
}

struct Seen {
  std::size_t step, first;
  std::vector<float> values;
  bool operator==(const Seen&) const = default;
};

// Three states in blocks of two, four steps made at times 0, 1/4, 1/2, 3/4: changes of 1, 26, 51
// and 76. Breaks if steps count from 1, or a step gets the time of its result.
TEST(Rollout, ShowsStepsFromZero) {
  const States<float> states = some_states(3);
  FunctionCommittee committee = timed_committee(states.grid());
  std::vector<Seen> seen;

  roll_out(committee, states.view(), 0, 4, 2,
           [&](std::size_t step, std::size_t first, StatesView<const float> rows) {
             seen.push_back({step, first, {rows.values, rows.values + rows.count}});
           });

  EXPECT_EQ(seen, (std::vector<Seen>{{0, 0, {11, 21}},
                                     {1, 0, {37, 47}},
                                     {2, 0, {88, 98}},
                                     {3, 0, {164, 174}},
                                     {0, 2, {31}},
                                     {1, 2, {57}},
                                     {2, 2, {108}},
                                     {3, 2, {184}}}));
}

TEST(Rollout, RowsAreGivenBackWhenAVisitorThrows) {
  const States<float> states = some_states(2);
  FunctionCommittee committee = timed_committee(states.grid());

  EXPECT_THROW(roll_out(committee, states.view(), 0, 3, 1,
                        [](std::size_t, std::size_t, StatesView<const float>) { throw 1; }),
               int);

  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

// Breaks if a stop is heard later than at the next step, or rows stay behind.
TEST(Rollout, StopsAtTheNextStep) {
  const States<float> states = some_states(2);
  FunctionCommittee committee = timed_committee(states.grid());
  int asked = 0, seen = 0;
  committee.stop_when([&] { return ++asked > 3; });

  EXPECT_THROW(roll_out(committee, states.view(), 0, 9, 2,
                        [&](std::size_t, std::size_t, StatesView<const float>) { ++seen; }),
               Stopped);

  EXPECT_EQ(seen, 3);
  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

TEST(Rollout, EvaluationStopsWithItsCommittee) {
  const States<float> test = some_states(8);  // two trajectories of four states
  FunctionCommittee committee = timed_committee(test.grid());
  int asked = 0;
  committee.stop_when([&] { return ++asked > 2; });

  EXPECT_THROW(evaluate(committee, {test.view(), 4}), Stopped);
  EXPECT_EQ(committee.blocks_in_use(), 0u);
  EXPECT_THROW(calibrate(committee, {test.view(), 4}), Stopped);
  EXPECT_EQ(committee.blocks_in_use(), 0u);
  EXPECT_EQ(asked, 4);
}

TEST(Rollout, RefusesWhatCannotBeRolledOut) {
  const States<float> states = some_states(1), other(make_grid(1, {2}, {1.0}), 1);
  FunctionCommittee committee = timed_committee(states.grid());
  const RolloutVisitor none = [](std::size_t, std::size_t, StatesView<const float>) {};

  test::expect_error(ErrorKind::internal, "blocks of 0",
                     [&] { roll_out(committee, states.view(), 0, 1, 0, none); });
  test::expect_error(ErrorKind::internal, "states of 2 values",
                     [&] { roll_out(committee, other.view(), 0, 1, 1, none); });
}

}  // namespace
}  // namespace stap
