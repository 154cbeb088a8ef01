// What a dilated network refuses, and its body between walls. Its numbers on periodic grids are
// tested in gradient_test.cpp, the laws of engines and committees with those of all families.
#include "stap/nn/dilated.h"

#include <gtest/gtest.h>

#include "nn/cpu/dilated/body.h"
#include "reference/dilated.h"
#include "stap/core/error.h"
#include "support/contains.h"
#include "support/isas.h"
#include "support/networks.h"

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

struct Walls {
  std::string name;
  std::vector<std::size_t> points;
  std::vector<Beyond> padding;
};

class DilatedBetween : public testing::TestWithParam<Walls> {};

INSTANTIATE_TEST_SUITE_P(Walls, DilatedBetween,
                         testing::ValuesIn(std::vector<Walls>{
                             {"Zeros", {13}, {Beyond::zero}},
                             {"Mirrors", {13}, {Beyond::mirror}},
                             {"MirrorsThatMeet", {5}, {Beyond::mirror}},
                             {"AChannel", {6, 7}, {Beyond::periodic, Beyond::zero}},
                             {"AMirroredChannel", {6, 7}, {Beyond::mirror, Beyond::periodic}},
                             {"ACorner", {6, 7}, {Beyond::mirror, Beyond::mirror}},
                             {"BothKinds", {5, 7}, {Beyond::zero, Beyond::mirror}},
                         }),
                         [](const auto& test) { return test.param.name; });

// The loss is the sum of the output times something. Tolerances as in gradient_test.cpp. Mutation:
// another point beyond a wall, or one of the readers of a mirrored point left out on the way back.
TEST_P(DilatedBetween, OutputAndGradientsAreTheTwins) {
  const DilatedOptions options{5, 2, {4, 1}};
  const NetworkSpec spec = network_on(GetParam().points, options, 2);
  const std::size_t points = spec.grid.points_total(), channels = 2;
  const Parameters weights = initial_parameters(spec, Rng(1));
  reference::DoubleParameters weights_of_twin(weights);
  const reference::Dilated twin(spec, weights_of_twin, unit_scaling(channels), GetParam().padding);
  std::vector<float> input(points * channels), factor(input.size()), output(input.size());
  reference::Network::Field x(channels, std::vector<double>(points));
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = static_cast<float>(Rng(2).normal(i));
    factor[i] = static_cast<float>(Rng(3).normal(i));
    x[i % channels][i / channels] = double(input[i]);
  }
  const auto loss = [&] {
    const reference::Network::Field y = twin.body(x, {}, nullptr);
    double sum = 0.0;
    for (std::size_t i = 0; i < factor.size(); ++i)
      sum += double(factor[i]) * y[i % channels][i / channels];
    return sum;
  };

  const cpu::dilated::DilatedBody body(spec, options, GetParam().padding, active_isa());
  std::vector<float> packed(body.size());
  body.pack(weights, packed.data());
  cpu::Rows rows{.weights = packed.data(), .count = 1};
  rows.input = [&](std::size_t, float* to) { std::ranges::copy(input, to); };
  rows.output = [&](std::size_t, std::size_t first, std::size_t n, float* values) {
    std::copy_n(values, n * channels, output.data() + first * channels);
    std::copy_n(factor.data() + first * channels, n * channels, values);
  };
  const auto pass = body.pass(1, 1);
  pass->run({&rows, 1});
  Parameters gradient = zero_parameters(spec);
  body.unpack(pass->gradient(0), gradient);

  const reference::Network::Field y = twin.body(x, {}, nullptr);
  std::vector<double> found(output.begin(), output.end()), expected;
  for (std::size_t i = 0; i < output.size(); ++i) expected.push_back(y[i % channels][i / channels]);
  EXPECT_LT(test::relative_l2(found, expected), 2e-6);
  for (std::size_t t = 0; t < gradient.size(); ++t) {
    const std::vector<float>& values = gradient[t].values;
    double largest = 0.0;
    for (const float g : values) largest = std::max(largest, std::abs(double(g)));
    ASSERT_GT(largest, 0.0) << gradient[t].name;
    for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 7) {
      double& w = weights_of_twin.values[t][i];
      const double kept = w, step = 1e-5;
      w = kept + step;
      const double above = loss();
      w = kept - step;
      const double below = loss();
      w = kept;
      EXPECT_NEAR(double(values[i]), (above - below) / (2 * step), 2e-5 * largest + 1e-8)
          << gradient[t].name << "[" << i << "]";
    }
  }
}

}  // namespace
}  // namespace stap
