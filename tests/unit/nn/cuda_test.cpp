// The GPU engine against the CPU engine, and what is said when there is no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "nn/gradients.h"
#include "stap/core/error.h"
#include "stap/nn/dilated.h"
#include "stap/nn/engine.h"
#include "stap/nn/family.h"
#include "support/contains.h"
#include "support/networks.h"
#include "support/refusals.h"

namespace stap {
namespace {

using Precision = ComputeOptions::Precision;

constexpr std::uint32_t kSteps = 10;  // that a time input runs over

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = cuda_problem(); !problem.empty()) GTEST_SKIP() << problem;
  }
};

// The five paper-size networks, and what else the kernels can hold.
std::vector<NetworkSpec> paper_shapes() {
  const auto shape = [](std::size_t channels, std::vector<std::size_t> points,
                        std::vector<std::size_t> modes, bool time = false, bool position = false) {
    std::vector<double> lengths(points.size(), 1.0);
    return make_network(make_grid(channels, std::move(points), std::move(lengths)),
                        {.time_input = time,
                         .position_input = position,
                         .family = fno({.modes = std::move(modes)})},
                        {}, kSteps);
  };
  return {shape(1, {256}, {32}),
          shape(1, {256}, {256}),
          shape(1, {256}, {128}),
          shape(1, {32, 32}, {16, 16}),
          shape(4, {32, 32}, {32, 32}),
          shape(1, {32, 32}, {16, 16}, true),
          shape(2, {600}, {40}),
          shape(9, {100}, {20}),
          shape(1, {32, 32}, {16, 16}, false, true),
          shape(4, {32, 32}, {32, 32}, true, true),
          test::with_parameters(shape(1, {256}, {32}), 2),
          test::with_parameters(shape(2, {32, 32}, {16, 16}, true, true), 8)};
}

// Dilated networks of the default size, and odd ones: one block, five taps, fewer points than a
// tile in all rows, inputs beside the state.
std::vector<NetworkSpec> dilated_shapes() {
  const auto shape = [](std::size_t channels, std::vector<std::size_t> points,
                        const DilatedOptions& options, bool inputs = false) {
    std::vector<double> lengths(points.size(), 1.0);
    return make_network(
        make_grid(channels, std::move(points), std::move(lengths)),
        {.time_input = inputs, .position_input = inputs, .family = dilated(options)}, {}, kSteps);
  };
  return {shape(1, {256}, {}), shape(4, {32, 32}, {}), shape(2, {3}, {20, 1, {1}}),
          shape(3, {101}, {33, 2, {1, 3}, 5}), shape(1, {9, 14}, {64, 1, {4, 1}}, true)};
}

std::vector<NetworkSpec> all_shapes() {
  std::vector<NetworkSpec> shapes = paper_shapes();
  for (NetworkSpec& shape : dilated_shapes()) shapes.push_back(std::move(shape));
  return shapes;
}

// Of relative L2: 1e-4 in fp32; in tf32, whose operands have 11 bits, 2e-3, and more for the many
// layers of dilated networks.
double tolerance_of(const NetworkSpec& shape, Precision precision) {
  if (precision == Precision::fp32) return 1e-4;
  return shape.family.row->name == "dilated" ? 6e-3 : 2e-3;
}

double relative(std::span<const float> a, std::span<const float> b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - double(b[i]), 2);
    norm += double(b[i]) * double(b[i]);
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

// Relative L2 of outputs and of every tensor of the gradient.
TEST_F(Cuda, OutputsAndGradientsAgreeWithTheCpu) {
  for (const NetworkSpec& shape : all_shapes())
    for (Precision precision : {Precision::fp32, Precision::tf32}) {
      SCOPED_TRACE(shape.grid.shape_text() + (precision == Precision::fp32 ? " fp32" : " tf32"));
      const double tolerance = tolerance_of(shape, precision);
      const auto cpu = make_cpu_engine(shape, 1);
      const auto gpu = make_cuda_engine(shape, 1, precision);
      const MemberState state =
          fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(5));
      cpu->load(0, state);
      gpu->load(0, state);
      const test::Transitions data(shape, 19, Rng(11));
      std::vector<float> factors;
      for (std::size_t c = 0; c < shape.grid.channels; ++c)
        factors.push_back(1.0f / static_cast<float>(c + 1));

      Parameters expected, got;
      const double expected_loss = batch_gradient(*cpu, 0, data.view(), expected, factors);
      const double loss = batch_gradient(*gpu, 0, data.view(), got, factors);

      EXPECT_NEAR(loss, expected_loss, tolerance * expected_loss);
      for (std::size_t t = 0; t < got.size(); ++t)
        EXPECT_LT(relative(got[t].values, expected[t].values), tolerance) << got[t].name;
    }
}

// States and sketches of a full bundle and one more row. Relative L2: 1e-4 in fp32, 2e-3 in tf32.
TEST_F(Cuda, StatesAndSketchesAgreeWithTheCpu) {
  constexpr std::size_t kCount = 33;
  for (const NetworkSpec& shape : all_shapes())
    for (Precision precision : {Precision::fp32, Precision::tf32}) {
      SCOPED_TRACE(shape.grid.shape_text() + (precision == Precision::fp32 ? " fp32" : " tf32"));
      const double tolerance = tolerance_of(shape, precision);
      const MemberState state =
          fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(5));
      const auto in = test::random_states(shape.grid, kCount, Rng(6));
      std::vector<std::size_t> all(kCount);
      std::iota(all.begin(), all.end(), std::size_t{0});
      const auto sketch = [&](Engine& engine, std::vector<double>& features) {
        engine.load(0, state);
        const auto committee = engine.committee({0});
        const RowsId rows = committee->rows(kCount);
        Conditions conditions;
        for (std::size_t r = 0; r < kCount; ++r)
          conditions.add(kSteps / 2, draw_parameters(shape.parameters, Rng(7), r));
        committee->put(rows, 0, in.view(), conditions.view());
        committee->sketch(rows, all, std::vector<int>(kCount, 0), 1, rows, all, features);
        States<float> out(shape.grid, kCount);
        committee->get(rows, 0, out.view());
        return out;
      };

      std::vector<double> expected(kCount * kSketchSize), got(kCount * kSketchSize);
      const auto expected_states = sketch(*make_cpu_engine(shape, 1), expected);
      const auto states = sketch(*make_cuda_engine(shape, 1, precision), got);

      EXPECT_LT(relative(states.values(), expected_states.values()), tolerance);
      EXPECT_LT(test::relative_l2(got, expected), tolerance);
    }
}

// Channels in units of their own. Mutation: the factor of another channel, or after squaring.
TEST_F(Cuda, DistancesAndSpreadsHaveTheBitsOfTheCpu) {
  const NetworkSpec shape = test::small_shape({10, 13}, {4, 4}, 3);
  const auto in = test::random_states(shape.grid, 4, Rng(6));
  const auto measured = [&](Engine& engine) {
    const auto committee = engine.committee({0, 1});
    committee->weigh_channels({0.3, 7.0, 1e-3});
    const RowsId rows = committee->rows(4);
    committee->put(rows, 0, in.view());
    std::vector<double> out(4);
    committee->distance2(rows, std::vector<std::size_t>{0, 1}, rows, std::vector<std::size_t>{2, 3},
                         {out.data(), 2});
    committee->spread(rows, std::vector<std::size_t>{0, 1, 2, 3}, {out.data() + 2, 2});
    return out;
  };
  EXPECT_EQ(measured(*make_cuda_engine(shape, 2, Precision::fp32)),
            measured(*make_cpu_engine(shape, 2)));
}

// Known without a GPU.
TEST(CudaEngine, RefusesWhatItsKernelsDoNotHold) {
  const auto refused = [](const NetworkSpec& spec) {
    return test::error_text(ErrorKind::config, [&] { make_cuda_engine(spec, 1, Precision::fp32); });
  };
  if (!family_table().find("fno")->cuda) GTEST_SKIP() << "built without CUDA";
  const NetworkSpec told = test::with_parameters(test::small_shape({16}, {6}), 2);

  NetworkSpec convolved = told;
  convolved.family = dilated({.dilations = {1, 2}});

  for (const NetworkSpec& spec : {told, convolved})
    EXPECT_TRUE(
        test::contains(refused(test::with_shifts(spec)), "network.parameter_input is shifts"));
  EXPECT_TRUE(
      test::contains(refused(test::with_parameters(test::small_shape({16}, {6}, 7, 5, 7, true), 8)),
                     "the number of input channels is 16, but the GPU kernels hold at most 15"));
  EXPECT_TRUE(test::contains(refused(test::with_parameters(test::small_shape({16}, {6}), 9)),
                             "the number of parameters that vary is 9"));
}

TEST(CudaEngine, SaysWhyThereIsNone) {
  if (cuda_problem().empty()) GTEST_SKIP() << "there is a GPU";
  const NetworkSpec shape = test::small_shape({16}, {6});

  for (auto make : {+[](const NetworkSpec& s) { return make_cuda_engine(s, 1, Precision::fp32); },
                    +[](const NetworkSpec& s) {
                      return make_engine({.device = ComputeOptions::Device::cuda}, s, 1);
                    }}) {
    try {
      make(shape);
      FAIL() << "an engine without a GPU";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unavailable);
      EXPECT_FALSE(std::string(error.what()).empty());
    }
  }
  EXPECT_NO_THROW(make_engine({.device = ComputeOptions::Device::automatic}, shape, 1));
}

}  // namespace
}  // namespace stap
