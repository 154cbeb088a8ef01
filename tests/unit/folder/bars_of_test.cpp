#include "stap/folder/bars_of.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "stap/config/value.h"
#include "support/networks.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::expect_error;
using test::small_shape;
using test::some_scaling;

// Two members on 16 points, and bars of them for one step.
struct Calibrated {
  Model model{small_shape({16}, {8}), {}};
  ErrorBars bars{.level = 0.9, .trajectories = 9, .steps = 1};

  Calibrated() {
    for (std::uint64_t m : {1, 2})
      model.members.push_back(fresh_member(model.spec, some_scaling(1), Rng(m)));
    bars.floor = {1e-6};
    bars.first = bars.any = {1, 2, 3};
    bars.widest = {1};
    bars.weights = digest(model);
    model.bars = config::json_text(to_value(bars), 0);
  }
};

TEST(BarsOf, AModelFileBringsItsOwn) {
  const test::TemporaryFolder folder;
  const auto file = folder.path("m.safetensors");
  Calibrated calibrated;
  write_model(file, calibrated.model);

  const FoundBars found = find_bars(file);

  ASSERT_TRUE(found.bars);
  EXPECT_EQ(found.bars->first, calibrated.bars.first);
  EXPECT_FALSE(found.stale);
  EXPECT_EQ(digest(read_model(file)), calibrated.bars.weights);
}

TEST(BarsOf, OtherWeightsHaveNone) {
  const test::TemporaryFolder folder;
  const auto file = folder.path("m.safetensors");
  Calibrated calibrated;
  calibrated.model.members[1].weights.back().values.back() += 1e-7F;
  write_model(file, calibrated.model);

  const FoundBars found = find_bars(file);

  EXPECT_FALSE(found.bars);
  EXPECT_TRUE(found.stale);
  EXPECT_NE(found.absent.find("are of other networks"), std::string::npos);
}

TEST(BarsOf, SaysWhoMakesThem) {
  const test::TemporaryFolder folder;
  const auto file = folder.path("m.safetensors");
  Calibrated calibrated;
  calibrated.model.bars.clear();
  write_model(file, calibrated.model);

  const FoundBars found = find_bars(file);

  EXPECT_FALSE(found.bars || found.stale);
  EXPECT_NE(found.absent.find("'stap calibrate RUN' makes them"), std::string::npos);
  calibrated.model.bars = "{\"format\": \"bars/1\"}";
  write_model(file, calibrated.model);
  expect_error(ErrorKind::data, "level", [&] { find_bars(file); });
}

// Deviations 3 and 4 of two members: sqrt((9 + 16) / 2) millionths. Clusters share a channel's.
TEST(BarsOf, FloorsAreAMillionthOfTheDeviation) {
  Model model{small_shape({16}, {8}), {}};
  model.members.resize(2);
  model.members[0].scaling.deviation = {3};
  model.members[1].scaling.deviation = {4};
  EXPECT_DOUBLE_EQ(bar_floors(model).at(0), 1e-6 * std::sqrt(12.5));

  model.spec.grid.channels = 4;
  model.cluster = 2;
  model.members[0].scaling.deviation = model.members[1].scaling.deviation = {1, 0, 7, 0};
  const std::vector<double> floors = bar_floors(model);
  ASSERT_EQ(floors.size(), 2u);
  EXPECT_DOUBLE_EQ(floors[0], 1e-6 * 5);
  EXPECT_GT(floors[1], 0);  // nothing is divided by 0
}

// Both ends of every transition, frame by frame, in single precision.
TEST(BarsOf, TrainedStatesAreAllThatWereSeen) {
  TransitionSet set{.grid = make_grid(2, {2}, {1.0}), .cluster = 2};
  set.origins.resize(1);
  set.inputs = {1, 2, 3, 4};
  set.outputs = {3, 4, 5, 0.1};

  const auto states = trained_states(set);

  EXPECT_EQ(states.size(), 3u);
  for (const std::vector<float>& state : {std::vector<float>{1, 2}, {3, 4}, {5, 0.1F}})
    EXPECT_TRUE(std::ranges::binary_search(states, state_hash(state)));
  EXPECT_FALSE(std::ranges::binary_search(states, state_hash(std::vector<float>{2, 3})));
  set.parameters = {{"nu"}, {0.5}};
  EXPECT_TRUE(std::ranges::binary_search(
      trained_states(set), state_hash(std::vector<float>{3, 4}, set.parameters.values)));
  EXPECT_FALSE(
      std::ranges::binary_search(trained_states(set), state_hash(std::vector<float>{3, 4})));
}

}  // namespace
}  // namespace stap
