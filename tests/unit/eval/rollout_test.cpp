#include "stap/eval/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "stap/core/error.h"
#include "stap/eval/calibration.h"
#include "stap/eval/metrics.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/function_committee.h"
#include "support/networks.h"
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

// One member that adds 1, and at time t another 100 t; the time runs over 4 steps.
FunctionCommittee timed_committee(const Grid& grid) {
  return {
      grid,
      {[](float value, double time) { return value + 1.0f + 100.0f * static_cast<float>(time); }},
      4};
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

// The law of predictions: n steps are the first n of any longer rollout, bit for bit, also for a
// network that is told the time, and beyond the steps that it was trained on; a rollout goes on
// from any of its states with that state's condition. Mutation: the time runs over the steps that
// are asked for instead of those of the trajectories that were learned.
TEST(Rollout, AShorterOneIsTheBeginningOfALongerOne) {
  for (const bool told : {false, true}) {
    NetworkSpec shape = test::small_shape({8}, {4}, 1, 5, 7, told);
    if (told) shape.horizon = 5;
    const auto engine = test::make_engine_under_test(shape, 2, 2);
    for (int m = 0; m < 2; ++m)
      engine->load(m, fresh_member(shape, test::some_scaling(1), Rng(3).split("m", m)));
    const auto committee = engine->committee({0, 1});
    const States<float> initial = test::random_states(shape.grid, 3, Rng(4));
    const auto rolled = [&](StatesView<const float> from, std::size_t steps, std::uint32_t begun) {
      std::vector<std::vector<float>> states(steps);
      const std::vector<std::uint32_t> begins(from.count, begun);
      roll_out(*committee, from, kMean, steps, 2,
               [&](std::size_t step, std::size_t, StatesView<const float> rows) {
                 states[step].insert(states[step].end(), rows.values,
                                     rows.values + rows.count * rows.row_size);
               },
               {begins});
      return states;
    };

    const auto longest = rolled(initial.view(), 7, 0);

    for (std::size_t steps = 1; steps < 7; ++steps) {
      const auto shorter = rolled(initial.view(), steps, 0);
      EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longest.begin())) << steps;
      const StatesView<const float> there{longest[steps - 1].data(), 3, shape.grid.values()};
      const auto rest = rolled(there, 7 - steps, static_cast<std::uint32_t>(steps));
      EXPECT_TRUE(std::equal(rest.begin(), rest.end(), longest.begin() + long(steps))) << steps;
    }
  }
}

// A network on a square, and every turn and mirror of that, with a vector's two channels: some of
// these are not their own inverse.
struct OnASquare {
  OnASquare() { engine->load(0, fresh_member(shape, test::some_scaling(2), Rng(3))); }

  NetworkSpec shape = test::small_shape({6, 6}, {4, 4}, 2);
  std::unique_ptr<Engine> engine = make_cpu_engine(shape, 1);
  std::unique_ptr<Committee> committee = engine->committee({0});
  std::vector<StateMap> maps = make_state_maps(
      {"x -> -x, u -> -u", "x -> y, y -> x, u -> v, v -> u"}, shape.grid, {"u", "v"});
};

States<float> rolled(Committee& committee, StatesView<const float> initial, std::size_t steps,
                     std::span<const StateMap> images, std::size_t block = 2, int threads = 1) {
  States<float> last(committee.grid(), initial.count);
  roll_out(
      committee, initial, 0, steps, block,
      [&](std::size_t, std::size_t first, StatesView<const float> rows) {
        for (std::size_t r = 0; r < rows.count; ++r)
          std::ranges::copy(rows.row(r), last.row(first + r).begin());
      },
      {}, images, threads);
  return last;
}

// Against the mean that is taken by hand, a step at a time. 8 images of single precision: 1e-6.
// Mutation: images are taken back by their own maps instead of the inverse ones, or not at all; the
// next step goes on from one image.
TEST(Rollout, OverImagesIsTheMeanOfAllOfThem) {
  const auto [shape, engine, committee, maps] = OnASquare();
  const States<float> initial = test::random_states(shape.grid, 3, Rng(4));
  ASSERT_EQ(maps.size(), 8u);

  const States<float> got = rolled(*committee, initial.view(), 2, maps);

  std::vector<float> expected(initial.values().begin(), initial.values().end());
  const std::size_t values = shape.grid.values();
  for (int step = 0; step < 2; ++step)
    for (std::size_t r = 0; r < 3; ++r) {
      std::vector<double> mean(values, 0.0);
      for (const StateMap& map : maps) {
        States<float> image(shape.grid, 1);
        map_state(map, expected.data() + r * values, image.values().data());
        const States<float> next = rolled(*committee, std::as_const(image).view(), 1, {});
        for (std::size_t v = 0; v < values; ++v) {
          const std::int32_t from = map.from[v];
          const double sign = from < 0 ? -1.0 : 1.0;
          mean[static_cast<std::size_t>(from < 0 ? -1 - from : from)] +=
              sign * double(next.values()[v]) / 8;
        }
      }
      for (std::size_t v = 0; v < values; ++v) expected[r * values + v] = float(mean[v]);
    }
  for (std::size_t v = 0; v < expected.size(); ++v)
    EXPECT_NEAR(got.values()[v], expected[v], 1e-6) << v;
}

// Two images, the state itself with its parameter and the mirror of it with the opposite one,
// against the mean taken by hand. Mutation: every image has the parameters of the row.
TEST(Rollout, ImagesHaveParametersOfTheirOwn) {
  NetworkSpec shape = test::small_shape({12}, {4}, 1);
  shape.parameters = {{"lid", ParameterDraw::Kind::uniform, {-1.0, 1.0}}};
  const auto engine = make_cpu_engine(shape, 1);
  engine->load(0, fresh_member(shape, test::some_scaling(1), Rng(3)));
  const auto committee = engine->committee({0});
  const States<float> initial = test::random_states(shape.grid, 3, Rng(4));
  const std::vector<double> lids{0.5, -0.25, 0.75}, opposite{-0.5, 0.25, -0.75};
  const auto maps =
      make_state_maps({"x -> -x, u -> -u, lid -> -lid"}, shape.grid, {"u"}, 1, {"lid"});
  ASSERT_EQ(maps.size(), 2u);
  const auto step_of = [&](StatesView<const float> states, const std::vector<double>& own,
                           std::span<const StateMap> images) {
    States<float> to(shape.grid, 3);
    roll_out(
        *committee, states, 0, 1, 2,
        [&](std::size_t, std::size_t first, StatesView<const float> rows) {
          for (std::size_t r = 0; r < rows.count; ++r)
            std::ranges::copy(rows.row(r), to.row(first + r).begin());
        },
        {{}, own, 1}, images);
    return to;
  };
  const auto mirrored = [&](const States<float>& states) {
    States<float> to(shape.grid, 3);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < 12; ++i) to.row(r)[i] = -states.row(r)[(12 - i) % 12];
    return to;
  };

  const States<float> got = step_of(initial.view(), lids, maps);

  const States<float> plain = step_of(initial.view(), lids, {});
  const States<float> image = mirrored(initial);
  const States<float> back = mirrored(step_of(image.view(), opposite, {}));
  for (std::size_t v = 0; v < got.values().size(); ++v)  // rounding of one sum
    EXPECT_NEAR(got.values()[v], 0.5 * (double(plain.values()[v]) + double(back.values()[v])),
                1e-6);
}

// Mutation: threads sum up in the same place.
TEST(Rollout, ImagesDoNotDependOnThreads) {
  const auto [shape, engine, committee, maps] = OnASquare();
  const States<float> initial = test::random_states(shape.grid, 9, Rng(4));

  const States<float> one = rolled(*committee, initial.view(), 2, maps, 9, 1);
  const States<float> three = rolled(*committee, initial.view(), 2, maps, 9, 3);

  EXPECT_TRUE(std::ranges::equal(one.values(), three.values()));
}

// What the network itself does not have. Sums of other orders: 1e-5.
TEST(Rollout, OverImagesOfAnImageIsTheImage) {
  const auto [shape, engine, committee, maps] = OnASquare();
  const States<float> initial = test::random_states(shape.grid, 1, Rng(4));
  const auto far = [&](const StateMap& map, std::span<const StateMap> images) {
    States<float> image(shape.grid, 1), expected(shape.grid, 1);
    map_state(map, initial.values().data(), image.values().data());
    const States<float> last = rolled(*committee, initial.view(), 3, images);
    map_state(map, last.values().data(), expected.values().data());
    const States<float> got = rolled(*committee, std::as_const(image).view(), 3, images);
    double most = 0;
    for (std::size_t v = 0; v < shape.grid.values(); ++v)
      most = std::max(most, std::abs(double(got.values()[v]) - double(expected.values()[v])));
    return most;
  };

  for (const StateMap& map : maps) EXPECT_LT(far(map, maps), 1e-5);
  EXPECT_GT(far(maps.back(), {}), 1e-2);
}

TEST(Rollout, TimeIsNotTurnedRoundInImages) {
  const States<float> states = some_states(1);
  FunctionCommittee committee = timed_committee(states.grid());
  const std::vector<StateMap> maps = {{{0}, false}, {{0}, true}};

  test::expect_error(ErrorKind::internal, "turn time round", [&] {
    roll_out(
        committee, states.view(), 0, 1, 1, [](auto, auto, auto) {}, {}, maps);
  });
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
