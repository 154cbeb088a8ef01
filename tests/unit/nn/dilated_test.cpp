// What a dilated network is and refuses. Its numbers are tested in gradient_test.cpp, the laws of
// engines and committees with those of all families.
#include "stap/nn/dilated.h"

#include <gtest/gtest.h>

#include "nn/gradients.h"
#include "stap/core/error.h"
#include "stap/nn/fno.h"
#include "support/contains.h"
#include "support/networks.h"
#include "support/refusals.h"

namespace stap {
namespace {

NetworkSpec network_on(std::vector<std::size_t> points, const DilatedOptions& options,
                       std::size_t channels = 1) {
  const std::vector<double> lengths(points.size(), 1.0);
  return make_network(make_grid(channels, std::move(points), lengths),
                      {.family = dilated(options)});
}

std::string complaint(const std::vector<std::size_t>& points, const DilatedOptions& options) {
  try {
    network_on(points, options);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(Dilated, RefusesGridsThatADilationGoesRound) {
  EXPECT_EQ(complaint({9}, {}), "");
  EXPECT_EQ(complaint({8}, {}),
            "network.dilations[3] is 8, which with 3 taps reaches 8 points to either side, but an "
            "axis of the grid 1 x 8 has 8 points: expected fewer to either side than that; give "
            "smaller dilations or fewer taps");
  EXPECT_TRUE(test::contains(complaint({64, 16}, {8, 1, {1, 8}, 5}), "network.dilations[1]"));
  EXPECT_TRUE(test::contains(complaint({3}, {8, 1, {1}, 7}), "network.taps is 7"));
}

TEST(Dilated, RefusesAnEvenNumberOfTaps) {
  EXPECT_TRUE(test::contains(complaint({16}, {8, 1, {1}, 4}), "network.taps is 4"));
}

// 3 taps, 64 channels, 21 convolutions of 64 x 64, as in docs/lab/networks.md.
TEST(Dilated, HasAsManyWeightsAsStated) {
  EXPECT_EQ(parameter_count(network_on({256}, {})),
            (3 * 1 * 64 + 64) + 21 * (3 * 64 * 64 + 64) + (3 * 64 * 1 + 1));
  EXPECT_EQ(parameter_count(network_on({32, 32}, {}, 4)),
            (9 * 4 * 64 + 64) + 21 * (9 * 64 * 64 + 64) + (9 * 64 * 4 + 4));
}

// Mutation: a family that has no convolutions taken at its word, or a ring made all the same.
TEST(Dilated, PadsByItsConvolutions) {
  const Grid room = with_walls(make_grid(1, {9, 8}, {1.0, 1.0}), {"points", "centres"});
  const auto padded = [&](const config::Choice<FamilyRow>& family,
                          NetworkOptions::PaddingOptions padding) {
    return make_network(room, {.padding = std::move(padding), .family = family});
  };
  const DilatedOptions options{8, 1, {1, 4}};
  const auto refused = [&](const config::Choice<FamilyRow>& family,
                           const NetworkOptions::PaddingOptions& padding) {
    return test::error_text(ErrorKind::config, [&] { padded(family, padding); });
  };

  EXPECT_EQ(padded(dilated(options), {{}, {"conv-zero"}}).body_grid().points, room.points);
  EXPECT_EQ(padded(dilated(options), {{}, {"conv-zero", "odd"}}).body_grid().points,
            (std::vector<std::size_t>{9, 10}));
  EXPECT_TRUE(test::contains(refused(fno({{4, 4}, 5, 7, 8}), {{}, {"blended", "conv-mirror"}}),
                             "network.padding.kind is conv-mirror for axis 2, but networks of the "
                             "family fno take rings only"));
  EXPECT_TRUE(test::contains(refused(dilated(options), {{0.25}, {"conv-zero"}}),
                             "network.padding.share is 0.25 for axis 1, where convolutions pad"));
}

// 21 rows are five whole blocks and one row. Mutation: sums of a row kept for all threads.
TEST(Dilated, ShiftsHaveOneGradientOnAnyNumberOfThreads) {
  const NetworkSpec spec =
      test::with_shifts(test::with_parameters(network_on({13}, {5, 2, {4, 1}}), 2));
  const test::Transitions data(spec, 21, Rng(1));
  const MemberState member = fresh_member(spec, test::some_scaling(1), Rng(2));
  const auto gradient_on = [&](int threads) {
    const auto engine = make_cpu_engine(spec, 1, threads);
    engine->load(0, test::shifted(member));
    Parameters gradient;
    batch_gradient(*engine, 0, data.view(), gradient);
    return gradient;
  };

  const Parameters one = gradient_on(1);

  EXPECT_EQ(one, gradient_on(2));
  EXPECT_EQ(one, gradient_on(3));
}

}  // namespace
}  // namespace stap
