// The engine's outputs and gradients against the slow twins (tests/reference/fno.h, dilated.h):
// outputs directly, gradients by central differences of their loss in double.
#include <gtest/gtest.h>

#include "nn/gradients.h"
#include "reference/dilated.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/networks.h"

namespace stap {
namespace {

struct Case {
  std::string name;
  NetworkSpec shape;
  std::size_t rows;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

using test::small_shape;

NetworkSpec dilated_shape(std::vector<std::size_t> points, const DilatedOptions& options,
                          std::size_t channels = 1, NetworkInputs inputs = {}) {
  const std::vector<double> lengths(points.size(), 1.0);
  return make_network(
      make_grid(channels, std::move(points), lengths),
      {.time_input = inputs.time, .position_input = inputs.position, .family = dilated(options)},
      {}, test::kHorizon);
}

// Odd sizes, one row, one more row than a block (4), all modes kept, unequal axes, many channels,
// time and position input, one layer, exact panel widths.
std::vector<Case> cases() {
  using Target = NetworkOptions::Target;
  std::vector<Case> list = {
      {"Line", small_shape({16}, {6}), 3},
      {"OneRow", small_shape({16}, {6}), 1},
      {"FiveRows", small_shape({12}, {4}), 5},
      {"OddPoints", small_shape({15}, {14}), 2},
      {"AllModes", small_shape({8}, {8}), 2},
      {"PrimePoints", small_shape({13}, {4}, 2), 2},
      {"LongerThanAChunk", small_shape({100}, {10}), 2},
      {"Channels", small_shape({10}, {4}, 3), 2},
      {"State", small_shape({10}, {4}, 2, 5, 7, false, Target::state), 2},
      {"Time", small_shape({10}, {4}, 1, 5, 7, true), 3},
      {"WidePanels", small_shape({9}, {4}, 1, 16, 32), 2},
      {"WiderThanAPanel", small_shape({9}, {4}, 1, 19, 33), 2},
      {"Plane", small_shape({8, 8}, {4, 4}), 2},
      {"UnequalPlane", small_shape({6, 10}, {4, 6}, 2), 2},
      {"OddPlane", small_shape({7, 9}, {4, 8}), 1},
      {"PlaneAllModes", small_shape({6, 6}, {6, 6}), 2},
      {"PlaneTime", small_shape({5, 6}, {2, 4}, 4, 3, 5, true), 2},
      {"Position", test::with_positions(small_shape({10}, {4}, 2)), 3},
      {"PlanePositionTime", test::with_positions(small_shape({5, 6}, {2, 4}, 2, 3, 5, true)), 2},
      {"Parameter", test::with_parameters(small_shape({11}, {4}), 1), 5},
      {"ParametersTime", test::with_parameters(small_shape({10}, {4}, 2, 5, 7, true), 2), 3},
      {"PlaneAll",
       test::with_parameters(test::with_positions(small_shape({5, 7}, {4, 6}, 2, 3, 5, true)), 8),
       3},
      {"Shifts", test::with_shifts(test::with_parameters(small_shape({11}, {4}), 2)), 5},
      {"PlaneShifts",
       test::with_shifts(test::with_parameters(
           test::with_positions(small_shape({5, 7}, {4, 6}, 2, 19, 5, true)), 3)),
       6},
  };
  // Walls: odd sizes and shares, each kind, an axis between walls beside one without.
  using test::with_padding, test::with_positions;
  const NetworkSpec line = with_positions(small_shape({9}, {4}, 2)), wide = small_shape({7}, {4});
  const NetworkSpec plane = with_positions(small_shape({5, 7}, {4, 6}, 2, 3, 5, true));
  const NetworkSpec turned = small_shape({6, 5}, {2, 4}, 1, 5, 7, false, Target::state);
  for (const char* kind : {"blended", "zero", "odd", "even"}) {
    list.push_back(
        {std::string("Line_") + kind, with_padding(line, {"centres"}, {0.5}, {kind}), 3});
    list.push_back({std::string("Wall_") + kind, with_padding(wide, {"points"}, {1.0}, {kind}), 2});
  }
  list.push_back({"LineUnpadded", with_padding(line, {"points"}, {0.0}), 2});
  list.push_back({"PlaneWalls",
                  with_padding(plane, {"centres", "points"}, {0.3, 0.6}, {"even", "blended"}), 5});
  list.push_back({"Channel", with_padding(turned, {"periodic", "centres"}, {}, {"odd"}), 2});
  list.push_back({"Pipe", with_padding(turned, {"centres", "periodic"}, {0.5, 0.0}), 1});
  // Fixed fields, without walls and with them.
  list.push_back({"Hole", with_padding(plane, {}, {}, {}, test::with_hole(plane.grid)), 2});
  list.push_back(
      {"HoleAtWalls",
       with_padding(plane, {"points", "centres"}, {0.4}, {"odd"}, test::with_hole(plane.grid, 2)),
       5});
  list.push_back({"Static",
                  with_padding(line, {}, {}, {},
                               make_fixed_fields(line.grid, {{}, std::vector<float>(9, 0.4f)})),
                  2});
  if (test::testing_cuda()) std::erase_if(list, [](const Case& c) { return c.shape.shifts() > 0; });
  FnoOptions one = *fno_options(small_shape({8}, {4}).family);
  one.layers = 1;
  list.push_back({"OneLayer", make_network(make_grid(1, {8}, {1.0}), {.family = fno(one)}), 2});
  if (test::testing_cuda() && !family_table().find("dilated")->cuda) return list;
  // One dilation, the largest that a grid takes, more points and channels than the tiles and chunks
  // of the kernels have, five taps, exact panel widths.
  const std::vector<Case> convolutions = {
      {"DilatedLine", dilated_shape({16}, {5, 2, {1, 2, 4}}), 5},
      {"DilatedOneLayer", dilated_shape({7}, {4, 1, {2}}, 2), 1},
      {"DilatedToTheEdge", dilated_shape({9}, {5, 1, {8, 1}}, 3), 2},
      {"DilatedLongerThanAChunk", dilated_shape({199}, {5, 1, {1, 3}}), 2},
      {"DilatedFiveTaps", dilated_shape({11}, {5, 2, {1, 3}, 5}), 2},
      {"DilatedOneTap", dilated_shape({6}, {5, 1, {1, 1}, 1}), 2},
      {"DilatedPanels", dilated_shape({9}, {32, 1, {1, 2}}), 2},
      {"DilatedFivePanels", dilated_shape({8}, {67, 1, {1, 2}}), 1},
      {"DilatedManyChannels", dilated_shape({8}, {6, 1, {1, 2}}, 18), 2},
      {"DilatedPlane", dilated_shape({7, 9}, {5, 2, {1, 3}}, 2), 2},
      {"DilatedInputs", dilated_shape({5, 6}, {4, 1, {2, 1}}, 4, {true, true}), 3},
  };
  list.insert(list.end(), convolutions.begin(), convolutions.end());
  if (test::testing_cuda()) return list;  // what follows has no GPU kernels
  // Convolutions that pad: each kind at each wall, mirrors that meet, beside a ring of either sort.
  const NetworkSpec row = with_positions(dilated_shape({13}, {5, 2, {4, 1}}, 2)),
                    few = dilated_shape({5}, {5, 2, {4, 1}}),
                    room = dilated_shape({5, 6}, {3, 1, {4, 1}}, 2, {true, true});
  for (const char* wall : {"centres", "points"})
    for (const char* kind : {"zero", "mirror"}) {
      const std::string conv = std::string("conv-") + kind, name = std::string(wall) + "_" + kind;
      list.push_back({"DilatedLine_" + name, with_padding(row, {wall}, {}, {conv}), 3});
      list.push_back({"DilatedFew_" + name, with_padding(few, {wall}, {}, {conv}), 1});
      list.push_back(
          {"DilatedChannel_" + name, with_padding(room, {wall, "periodic"}, {}, {conv}), 2});
      list.push_back({"DilatedRoom_" + name,
                      with_padding(room, {"points", wall}, {0.0}, {"conv-mirror", conv}), 2});
    }
  list.push_back({"DilatedRingAndWall",
                  with_padding(room, {"points", "centres"}, {0.4, 0.0}, {"odd", "conv-zero"}), 2});
  list.push_back({"DilatedHoleAtWalls",
                  with_padding(room, {"points", "centres"}, {}, {"conv-mirror", "conv-zero"},
                               test::with_hole(room.grid, 2)),
                  5});
  const NetworkSpec told = test::with_shifts(test::with_parameters(row, 2));
  list.push_back({"DilatedShifts", told, 5});
  list.push_back({"DilatedPlaneShifts",
                  test::with_shifts(test::with_parameters(
                      with_padding(room, {"points", "centres"}, {}, {"conv-zero"}), 3)),
                  6});
  return list;
}

class AgainstTwin : public testing::TestWithParam<Case> {
 protected:
  AgainstTwin()
      : shape(GetParam().shape),
        engine(test::make_engine_under_test(shape, 1, 2)),
        data(shape, GetParam().rows, Rng(11)) {
    engine->load(
        0, test::shifted(fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(5))));
  }
  NetworkSpec shape;
  std::unique_ptr<Engine> engine;
  test::Transitions data;
};

// float sums of a few hundred terms through six layers: 2e-6 relative is twenty roundings.
TEST_P(AgainstTwin, AdvancesStates) {
  const reference::DoubleParameters weights(engine->save(0).weights);
  const auto twin = reference::make_twin(shape, weights, engine->save(0).scaling);
  const auto committee = engine->committee({0});
  const std::size_t n = GetParam().rows;
  const RowsId rows = committee->rows(2 * n);
  std::vector<std::size_t> from(n), to(n);
  for (std::size_t r = 0; r < n; ++r) from[r] = r, to[r] = n + r;
  const std::vector<int> member(n, 0);

  committee->put(rows, 0, data.inputs.view(), data.conditions.view());
  committee->advance(rows, from, member, rows, to);
  States<float> advanced(shape.grid, n);
  committee->get(rows, n, advanced.view());

  for (std::size_t r = 0; r < n; ++r) {
    const auto expected = twin->advance(data.inputs.row(r), data.told_row(r));
    const std::vector<double> found(advanced.row(r).begin(), advanced.row(r).end());
    EXPECT_LT(test::relative_l2(found, expected), 2e-6) << "row " << r;
  }
}

// Central differences with step 1e-5 in double are good to about 1e-9; float gradients to about
// 1e-6 of the tensor's largest, so 2e-5 leaves room for cancellation and none for a wrong factor.
void expect_gradients(Engine& engine, const test::Transitions& data,
                      std::span<const float> factors) {
  const MemberState member = engine.save(0);
  reference::DoubleParameters weights(member.weights);
  const auto twin = reference::make_twin(engine.spec(), weights, member.scaling);

  Parameters gradient;
  const double loss = batch_gradient(engine, 0, data.view(), gradient, factors);

  EXPECT_NEAR(loss, twin->loss(data.view(), factors), 3e-6 * loss);
  for (std::size_t t = 0; t < gradient.size(); ++t) {
    const std::vector<float>& found = gradient[t].values;
    double largest = 0.0;
    for (float g : found) largest = std::max(largest, std::abs(double(g)));
    ASSERT_GT(largest, 0.0) << gradient[t].name;
    const std::size_t probes = std::min<std::size_t>(found.size(), 10);
    for (std::size_t probe = 0; probe < probes; ++probe) {
      // The first and last values always, the rest drawn.
      const std::size_t i = probe == 0   ? 0
                            : probe == 1 ? found.size() - 1
                                         : Rng(t).below(probe, found.size());
      double& w = weights.values[t][i];
      const double kept = w, step = 1e-5;
      w = kept + step;
      const double above = twin->loss(data.view(), factors);
      w = kept - step;
      const double below = twin->loss(data.view(), factors);
      w = kept;
      EXPECT_NEAR(found[i], (above - below) / (2 * step), 2e-5 * largest + 1e-8)
          << gradient[t].name << "[" << i << "]";
    }
  }
}

TEST_P(AgainstTwin, GradientsMatchFiniteDifferences) {
  expect_gradients(*engine, data, {});
}

// Every channel counts otherwise. Mutation: a factor once where it belongs twice, or that of
// another channel.
TEST_P(AgainstTwin, GradientsOfScaledErrorsMatchFiniteDifferences) {
  std::vector<float> factors;
  for (std::size_t c = 0; c < shape.grid.channels; ++c)
    factors.push_back(0.6f + 0.7f * static_cast<float>(c));
  expect_gradients(*engine, data, factors);
}

// Where no weight feels its steps, an epoch's loss is that of all its noisy rows, and without
// memory Adam's first moment is the gradient of the last batch. Mutation: draws of another epoch,
// place or value; the deviation of another channel; noise in front of the network, but not on the
// state that its change is added to, or not on the way back. Tolerances: of the loss as above; the
// gradient's for inputs and weights that differ in their last bits.
TEST_P(AgainstTwin, TrainsOnNoisyInputs) {
  constexpr int kEpoch = 2;
  constexpr std::size_t kBatch = 2;
  const std::size_t n = GetParam().rows, values = shape.grid.values();
  const std::size_t told = shape.told_channels();
  const MemberState member = engine->save(0);
  const reference::DoubleParameters weights(member.weights);
  const auto twin = reference::make_twin(shape, weights, member.scaling);
  FitOptions options;
  options.batch = kBatch;
  options.learning_rate = 1e-30;
  options.beta1 = 0;
  options.noise = 0.3;
  test::Transitions noisy(shape, n, Rng(0));
  std::vector<std::uint32_t> order;
  shuffle(Rng(7).split("epoch", kEpoch), n, order);
  for (std::size_t p = 0; p < n; ++p) {
    std::ranges::copy(data.targets.row(order[p]), noisy.targets.row(p).begin());
    std::ranges::copy(data.told_row(order[p]), noisy.told.begin() + std::ptrdiff_t(p * told));
    for (std::size_t v = 0; v < values; ++v)
      noisy.inputs.row(p)[v] =
          static_cast<float>(double(data.inputs.row(order[p])[v]) +
                             0.3 * double(member.scaling.deviation[v / shape.grid.points_total()]) *
                                 Rng(7).split("noise", kEpoch).normal(p * values + v));
  }

  struct Losses : Observer {
    void epoch_done(const EpochDone& e) override { values.push_back(e.loss); }
    std::vector<double> values;
  } losses;
  FitJob job{0, data.view(), options, Rng(7), kEpoch, kEpoch + 1};
  engine->fit({&job, 1}, losses);

  const double expected_loss = twin->loss(noisy.view());
  ASSERT_EQ(losses.values.size(), 1u);
  EXPECT_NEAR(losses.values[0], expected_loss, 3e-6 * expected_loss);
  const std::size_t last = (n - 1) / kBatch * kBatch;
  TransitionsView batch = noisy.view();
  batch.inputs = batch.inputs.rows(last, n - last);
  batch.targets = batch.targets.rows(last, n - last);
  batch.told = batch.told.subspan(last * told);
  Parameters expected;
  batch_gradient(*engine, 0, batch, expected);
  const Parameters found = engine->save(0).moment1;
  for (std::size_t t = 0; t < expected.size(); ++t)
    EXPECT_LT(test::relative_l2({found[t].values.begin(), found[t].values.end()},
                                {expected[t].values.begin(), expected[t].values.end()}),
              2e-6)
        << expected[t].name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AgainstTwin, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace stap
