// What walls and masks must not change.
#include <gtest/gtest.h>

#include <limits>

#include "nn/body_points.h"
#include "nn/gradients.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::small_shape, test::with_padding;

struct Made {
  std::vector<float> advanced;
  double loss = 0.0;
  Parameters gradient;
};
Made made(const NetworkSpec& spec, const test::Transitions& data, const MemberState& member) {
  const auto engine = test::make_engine_under_test(spec, 1, 2);
  engine->load(0, member);
  Made result;
  result.loss = batch_gradient(*engine, 0, data.view(), result.gradient);
  const auto committee = engine->committee({0});
  const std::size_t n = data.inputs.count();
  const RowsId rows = committee->rows(n);
  committee->put(rows, 0, data.inputs.view());
  std::vector<std::size_t> all(n);
  for (std::size_t r = 0; r < n; ++r) all[r] = r;
  committee->advance(rows, all, std::vector<int>(n, 0), rows, all);
  States<float> advanced(spec.grid, n);
  committee->get(rows, 0, advanced.view());
  result.advanced.assign(advanced.values().begin(), advanced.values().end());
  return result;
}

// Mutation: a table where there is nothing to pad.
TEST(Walls, WithoutPaddingChangeNoBit) {
  for (const NetworkSpec& ring : {small_shape({9}, {4}, 2), small_shape({5, 6}, {4, 4})}) {
    const std::vector<std::string> walls(ring.grid.axes(), "points");
    const NetworkSpec walled = with_padding(ring, walls, {0.0});
    const test::Transitions data(ring, 3, Rng(1));
    const MemberState member = fresh_member(ring, test::some_scaling(ring.grid.channels), Rng(2));

    const Made here = made(ring, data, member), there = made(walled, data, member);

    EXPECT_EQ(here.advanced, there.advanced);
    EXPECT_EQ(here.loss, there.loss);
    EXPECT_EQ(here.gradient, there.gradient);
  }
}

// Mutation: a masked value that is read for the input, for padding, for the loss or for a mean.
TEST(Mask, HidesWhatIsThere) {
  const NetworkSpec plain = small_shape({7, 6}, {4, 4}, 2);
  for (const bool padded : {false, true}) {
    NetworkSpec spec = with_padding(
        plain, padded ? std::vector<std::string>{"centres", "points"} : std::vector<std::string>(),
        {}, {}, test::with_hole(plain.grid));
    spec.conserved = {1};
    const std::vector<std::uint8_t>& mask = spec.fixed->mask;
    test::Transitions data(spec, 3, Rng(1));
    const MemberState member = fresh_member(spec, test::some_scaling(2), Rng(2));
    const Made first = made(spec, data, member);
    for (States<float>* states : {&data.inputs, &data.targets})
      for (std::size_t v = 0; v < states->values().size(); ++v)
        if (mask[v % mask.size()] == 0)
          states->values()[v] = std::numeric_limits<float>::quiet_NaN();

    const Made second = made(spec, data, member);

    EXPECT_EQ(first.advanced, second.advanced);
    EXPECT_EQ(first.loss, second.loss);
    EXPECT_EQ(first.gradient, second.gradient);
    for (std::size_t v = 0; v < first.advanced.size(); ++v)
      if (mask[v % mask.size()] == 0) {
        EXPECT_EQ(first.advanced[v], 0.0f);
      }
  }
}

TEST(Mask, OfOnesIsNone) {
  const Grid grid = make_grid(1, {4}, {1.0});

  EXPECT_EQ(make_fixed_fields(grid, {{1, 1, 1, 1}, {}}), nullptr);
}

// By hand. Mutation: a weight, a mirror or a wall off by one point.
TEST(BodyPoints, AreWhatPaddingSays) {
  const NetworkSpec four = small_shape({4}, {4});
  const auto table = [&](const char* walls, const char* kind) {
    return body_points(with_padding(four, {walls}, {0.5}, {kind}));
  };
  const double near = 0.75, far = 0.25;  // (1 + cos(pi/3)) / 2 and what is left

  const auto expect = [](const BodyPoint& point, std::vector<std::pair<int, double>> sources) {
    EXPECT_EQ(point.place, -1);
    ASSERT_EQ(point.sources, static_cast<int>(sources.size()));
    for (std::size_t s = 0; s < sources.size(); ++s) {
      EXPECT_EQ(point.from[s], sources[s].first);
      EXPECT_NEAR(static_cast<double>(point.weight[s]), sources[s].second, 1e-7);  // float
    }
  };
  EXPECT_EQ(table("centres", "blended").size(), 6u);
  EXPECT_EQ(table("centres", "blended")[3].place, 3);
  expect(table("points", "blended")[4], {{3, near}, {0, far}});
  expect(table("points", "blended")[5], {{3, far}, {0, near}});
  expect(table("points", "zero")[4], {});
  expect(table("centres", "even")[4], {{3, near}, {1, far}});
  expect(table("centres", "even")[5], {{2, far}, {0, near}});
  expect(table("points", "odd")[4], {{2, -near}, {2, -far}});
  expect(table("points", "odd")[5], {{1, -far}, {1, -near}});
}

}  // namespace
}  // namespace stap
