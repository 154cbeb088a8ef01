// The surrogate in C (interfaces/c/stap_model.c) against the slow twin in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "reference/dilated.h"
#include "stap/nn/model_file.h"
#include "support/c_model.h"
#include "support/engine_under_test.h"
#include "support/networks.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::CLibrary;
using test::CModel;
using test::small_shape;

struct NamedShape {
  std::string name;
  NetworkSpec shape;
};

NetworkSpec conserving(NetworkSpec shape) {
  shape.conserved = {0};
  return shape;
}

NetworkSpec dilated_shape(std::vector<std::size_t> points, std::size_t channels, std::size_t width,
                          std::vector<std::size_t> dilations, bool time_input = false,
                          NetworkOptions::Target target = NetworkOptions::Target::delta) {
  const std::vector<double> lengths(points.size(), 1.0);
  return make_network(
      make_grid(channels, std::move(points), lengths),
      {.target = target,
       .time_input = time_input,
       .family = dilated({.width = width, .blocks = 2, .dilations = std::move(dilations)})},
      {}, test::kHorizon);
}

NetworkSpec with_fixed(NetworkSpec shape, SharedFixedFields fixed) {
  shape.fixed = std::move(fixed);
  return shape;
}

// Grids, modes and channels of the five problems, narrower, in both families; then what is odd.
std::vector<NamedShape> shapes() {
  using test::with_padding, test::with_parameters, test::with_positions, test::with_shifts;
  constexpr auto state = NetworkOptions::Target::state;
  const NetworkSpec line = small_shape({14}, {6}, 2, 5, 7),
                    plane = with_positions(small_shape({9, 7}, {8, 6}, 2, 18, 8, true)),
                    taps = with_positions(dilated_shape({9, 7}, 2, 5, {2, 1}));
  FixedFields forcing;
  forcing.channels = {0.5f, -1.0f, 0.0f, 2.0f, 1.0f, 0.25f, -3.0f, 1.5f, 0.5f, 1.0f};
  return {{"burgers", small_shape({256}, {32}, 1, 12, 17)},
          {"kdv", small_shape({256}, {256}, 1, 5, 17)},
          {"ks", small_shape({256}, {128}, 1, 17, 16)},
          {"ins", small_shape({32, 32}, {16, 16}, 1, 6, 9, true)},
          {"cns", small_shape({32, 32}, {32, 32}, 4, 3, 18, false, state)},
          {"burgers, dilated", dilated_shape({256}, 1, 12, {1, 2, 4, 8, 4, 2, 1})},
          {"kdv, dilated", dilated_shape({256}, 1, 17, {1, 8, 1})},
          {"ks, dilated", dilated_shape({256}, 1, 16, {4, 2})},
          {"ins, dilated", dilated_shape({32, 32}, 1, 6, {1, 8}, true)},
          {"cns, dilated", dilated_shape({32, 32}, 4, 3, {2}, false, state)},
          {"one", small_shape({2}, {2}, 1, 1, 1)},
          {"odd", small_shape({49}, {10}, 2, 16, 33, true, state)},
          {"placed", with_positions(small_shape({50}, {12}, 3, 20, 31, true))},
          {"long", small_shape({3, 98}, {2, 4}, 2, 7, 5)},
          {"plane", conserving(plane)},
          {"kept", conserving(small_shape({25}, {6}, 2, 5, 7))},
          {"told", with_parameters(conserving(small_shape({25}, {6}, 2, 5, 7, true)), 3)},
          {"shifted", with_shifts(with_parameters(small_shape({9, 7}, {8, 6}, 2, 18, 8, true), 4))},
          {"told, dilated", with_parameters(dilated_shape({25}, 2, 5, {3, 1}, true), 3)},
          {"centres", conserving(with_padding(line, {"centres"}, {0.3}, {"even"}))},
          {"points", with_positions(with_padding(line, {"points"}, {0.4}, {"odd"}))},
          {"open", with_padding(with_shifts(with_parameters(line, 2)), {"centres"}, {0.25})},
          {"zeros, dilated", with_padding(taps, {"periodic", "points"}, {0.0, 0.5}, {"zero"})},
          {"room", with_padding(plane, {"centres", "points"}, {0.4, 0.3}, {"odd", "even"})},
          {"hole", conserving(with_padding(plane, {"points", "periodic"}, {0.5, 0.0}, {},
                                           test::with_hole(plane.grid, 2)))},
          {"hole, dilated", with_padding(conserving(taps), {"centres", "centres"}, {0.25}, {"even"},
                                         test::with_hole(taps.grid, 1))},
          {"ring with a hole", conserving(with_fixed(line, test::with_hole(line.grid)))},
          {"forced", with_fixed(small_shape({10}, {4}, 1, 5, 7),
                                make_fixed_fields(small_shape({10}, {4}).grid, forcing))}};
}

MemberState member_of(const NetworkSpec& shape, std::uint64_t seed) {
  return test::shifted(fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(seed)));
}

std::vector<double> doubles(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// The condition of step 300.
struct Condition {
  explicit Condition(const NetworkSpec& shape)
      : values(draw_parameters(shape.parameters, Rng(6), 0)), told(told_at(shape, values)) {}
  static std::vector<float> told_at(const NetworkSpec& shape, const std::vector<double>& values) {
    Conditions one;
    one.add(kNumber, values);
    return told_rows(shape, one.view(), 1);
  }
  static constexpr std::uint32_t kNumber = 300;
  std::vector<double> values;
  std::vector<float> told;
};

// One step of the twin, with its kept means.
std::vector<double> twin_step(const NetworkSpec& shape, const reference::DoubleParameters& weights,
                              const Scaling& scaling, std::span<const float> state,
                              std::span<const float> told) {
  const std::size_t points = shape.grid.points_total();
  std::vector<double> out = reference::make_twin(shape, weights, scaling)->advance(state, told);
  const auto open = [&](std::size_t v) { return !is_masked(shape.fixed.get(), v % points); };
  for (const std::size_t c : shape.conserved) {
    double shift = 0.0, counted = 0.0;
    for (std::size_t p = c * points; p < (c + 1) * points; ++p)
      if (open(p)) shift += double(state[p]) - out[p], ++counted;
    for (std::size_t p = c * points; p < (c + 1) * points; ++p)
      if (open(p)) out[p] += shift / counted;
  }
  return out;
}

class CModelTest : public testing::TestWithParam<std::string> {
 protected:
  std::string written(const Model& model) {
    write_model(folder_.path() / "model", model);
    return (folder_.path() / "model").string();
  }
  test::TemporaryFolder folder_;
  CLibrary library_{GetParam()};
};

// The C step is at most 5 times as far from the twin as the engine's own, which is what rounding in
// single precision costs; below 1e-7 neither says anything. Mutation: any weight in the wrong
// place, a wrong sign or factor of a mode, another GELU.
TEST_P(CModelTest, AStepIsThatOfTheEngine) {
  for (const auto& [name, shape] : shapes()) {
    SCOPED_TRACE(name);
    const MemberState member = member_of(shape, 1);
    const States<float> in = test::random_states(shape.grid, 1, Rng(2));
    const Condition now(shape);
    const std::uint32_t number = Condition::kNumber;
    const auto engine = make_cpu_engine(shape, 1, 1);
    engine->load(0, member);
    const auto committee = engine->committee({0});
    const RowsId rows = committee->rows(1);
    committee->put(rows, 0, in.view(), {std::span(&number, 1), now.values, now.values.size()});
    const std::vector<std::size_t> row{0};
    const std::vector<int> which{0};
    committee->advance(rows, row, which, rows, row);
    States<float> out(shape.grid, 1);
    committee->get(rows, 0, out.view());
    const reference::DoubleParameters weights(member.weights);
    const auto exact = twin_step(shape, weights, member.scaling, in.row(0), now.told);
    const CModel model(library_, written({shape, {member}}), now.values);

    const auto made = model.step(0, number, doubles(in.row(0)));

    const double engine_error = test::relative_l2(doubles(out.row(0)), exact);
    EXPECT_LE(test::relative_l2(made, exact), 5.0 * std::max(engine_error, 2e-8));
    RecordProperty(name, std::to_string(test::relative_l2(made, exact) / engine_error));
    if (std::getenv("STAP_TEST_SHOW") != nullptr)
      std::printf("%-8s %-16s engine %.2e C %.2e\n", GetParam().c_str(), name.c_str(), engine_error,
                  test::relative_l2(made, exact));
  }
}

// <w, J v> by central differences of the twin, in double, is <J^T w, v>. Mutation: an adjoint that
// leaves out a part (target, kept mean, scaling, a layer's slope, the skip), or takes a mode's
// matrix without its conjugate.
TEST_P(CModelTest, TheAdjointIsThatOfTheTwinsDerivative) {
  for (const auto& [name, shape] : shapes()) {
    if (shape.grid.points_total() > 300) continue;  // the twin takes a second for each of them
    SCOPED_TRACE(name);
    const MemberState member = member_of(shape, 3);
    const reference::DoubleParameters weights(member.weights);
    const std::size_t values = shape.grid.values();
    const States<float> in = test::random_states(shape.grid, 3, Rng(4));
    const auto v = doubles(in.row(1)), w = doubles(in.row(2));
    // Steps that single precision holds: the twin takes floats.
    constexpr float kStep = 1.0f / 64;
    double forward = 0.0, scale = 0.0;
    const auto moved = [&](float by) {
      std::vector<float> state(in.row(0).begin(), in.row(0).end());
      for (std::size_t i = 0; i < values; ++i) state[i] += by * in.row(1)[i];
      return state;
    };
    // Fourth order, so that steps this large do: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h, with
    // the directions as they are rounded taken into account by the tolerance.
    std::vector<std::vector<double>> at;
    const Condition now(shape);
    for (const float h : {kStep, -kStep, 2 * kStep, -2 * kStep})
      at.push_back(twin_step(shape, weights, member.scaling, moved(h), now.told));
    for (std::size_t i = 0; i < values; ++i) {
      const double slope = (8 * (at[0][i] - at[1][i]) - (at[2][i] - at[3][i])) / (12.0 * kStep);
      forward += w[i] * slope;
      scale += w[i] * w[i] * slope * slope;
    }
    const CModel model(library_, written({shape, {member}}), now.values);
    std::vector<double> by_parameter(now.values.size());

    const auto gradient = model.adjoint(0, Condition::kNumber, doubles(in.row(0)), w);
    ASSERT_EQ(library_.gradients(model.model, model.work, 0, Condition::kNumber,
                                 doubles(in.row(0)).data(), w.data(), nullptr, by_parameter.data()),
              0);

    const double back = std::inner_product(v.begin(), v.end(), gradient.begin(), 0.0);
    // Rounding of states moved by h (6e-8 / h relative) and h^4 of the differences, both of the
    // size of single terms, of which a sum has `values` with random signs.
    EXPECT_NEAR(back, forward, 2e-5 * std::sqrt(scale) + 1e-6);
    // The twin is told parameters in single precision, 6e-8 of numbers of the size 1, so steps are
    // large here, too.
    for (std::size_t p = 0; p < by_parameter.size(); ++p) {
      const auto slopes = [&](double h) {
        auto up = now.values, down = now.values;
        up[p] += h;
        down[p] -= h;
        const auto high = twin_step(shape, weights, member.scaling, in.row(0),
                                    Condition::told_at(shape, up)),
                   low = twin_step(shape, weights, member.scaling, in.row(0),
                                   Condition::told_at(shape, down));
        double sum = 0.0;
        for (std::size_t v = 0; v < values; ++v) sum += w[v] * (high[v] - low[v]) / (2 * h);
        return sum;
      };
      const double h = 0.02 * std::abs(now.values[p]), exact = (4 * slopes(h) - slopes(2 * h)) / 3;
      EXPECT_NEAR(by_parameter[p], exact, 2e-4 * std::abs(exact) + 1e-5 * std::sqrt(scale)) << p;
    }
  }
}

// In double the C model can be moved by itself: its own central differences, which have its single
// precision in them. Mutation: an adjoint of the averaged model that is of one member.
TEST_P(CModelTest, TheAdjointOfTheAverageIsTheAverageOfAdjoints) {
  const NetworkSpec shape = conserving(small_shape({18}, {6}, 2, 5, 7, true));
  const CModel model(library_, written({shape, {member_of(shape, 1), member_of(shape, 2)}}));
  const States<float> in = test::random_states(shape.grid, 2, Rng(5));
  const auto from = doubles(in.row(0)), w = doubles(in.row(1));

  const auto both = model.adjoint(STAP_MODEL_MEAN, 7, from, w);

  const auto a = model.adjoint(0, 7, from, w), b = model.adjoint(1, 7, from, w);
  for (std::size_t i = 0; i < both.size(); ++i)
    EXPECT_NEAR(both[i], (a[i] + b[i]) / 2, 1e-13) << i;  // sums in double, in another order
  for (std::size_t i = 0; i < both.size(); i += 5) {
    auto up = from, down = from;
    up[i] += 0.01;
    down[i] -= 0.01;
    const auto high = model.step(STAP_MODEL_MEAN, 7, up),
               low = model.step(STAP_MODEL_MEAN, 7, down);
    double difference = 0.0;
    for (std::size_t v = 0; v < w.size(); ++v) difference += w[v] * (high[v] - low[v]) / 0.02;
    // 1e-7 of rounding in each of 36 outputs over 0.02, and third derivatives times 1e-4.
    EXPECT_NEAR(both[i], difference, 2e-3) << i;
  }
}

// Mutation: a rollout that does not count steps, an average of the wrong members, a spread that is
// not the deviation.
TEST_P(CModelTest, RolloutsAndMembersAreMadeOfSteps) {
  const NetworkSpec shape = conserving(small_shape({18}, {6}, 2, 5, 7, true));
  const std::size_t n = shape.grid.values();
  Model file{shape, {member_of(shape, 1), member_of(shape, 2), member_of(shape, 3)}};
  const CModel model(library_, written(file));
  const auto from = doubles(test::random_states(shape.grid, 1, Rng(5)).row(0));

  std::vector<double> states(4 * n), average(n), each(3 * n), spread(n);
  ASSERT_EQ(
      library_.rollout(model.model, model.work, STAP_MODEL_MEAN, 2, 4, from.data(), states.data()),
      0);
  ASSERT_EQ(library_.members(model.model, model.work, 2, from.data(), average.data(), each.data(),
                             spread.data()),
            0);

  auto now = from;
  for (long i = 0; i < 4; ++i) {
    now = model.step(STAP_MODEL_MEAN, 2 + i, now);
    EXPECT_TRUE(std::equal(now.begin(), now.end(), states.begin() + i * long(n))) << i;
  }
  EXPECT_EQ(average, model.step(STAP_MODEL_MEAN, 2, from));
  for (int m = 0; m < 3; ++m) {
    const auto one = model.step(m, 2, from);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), each.begin() + m * long(n))) << m;
  }
  for (std::size_t v = 0; v < n; ++v) {
    double squares = 0.0;
    for (std::size_t m = 0; m < 3; ++m) squares += std::pow(each[m * n + v] - average[v], 2);
    EXPECT_NEAR(spread[v], std::sqrt(squares / 3), 1e-12) << v;  // of values of the size 1
  }
  // In its place.
  now = from;
  library_.step(model.model, model.work, STAP_MODEL_MEAN, 2, now.data(), now.data());
  EXPECT_EQ(now, average);
  // What does not exist changes nothing.
  for (const auto& [member, step] : {std::pair(3, 0L), std::pair(-2, 0L), std::pair(0, -1L)})
    EXPECT_EQ(library_.step(model.model, model.work, member, step, from.data(), now.data()), -1);
  EXPECT_EQ(now, average);
}

INSTANTIATE_TEST_SUITE_P(Compiled, CModelTest, testing::ValuesIn(test::c_libraries()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace stap
