// The surrogate in C (interfaces/c/stap_model.c) against the slow twin in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "stap/config/files.h"
#include "stap/eval/predicted_bars.h"
#include "stap/nn/model_file.h"
#include "support/c_model.h"
#include "support/engine_under_test.h"
#include "support/network_shapes.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::CLibrary;
using test::CModel;
using test::small_shape;

using test::Condition, test::dilated_shape, test::doubles, test::member_of, test::shapes;
using test::conserving, test::twin_step, test::with_fixed;

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
        for (std::size_t i = 0; i < values; ++i) sum += w[i] * (high[i] - low[i]) / (2 * h);
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

// Bars of the C forecast are those of `stap predict --bars`, but for single precision. Mutation: a
// spread of one step instead of the members' own ways, another factor, start or frame of a cluster,
// a floor that is left out, a bar where there is no bound.
TEST_P(CModelTest, ForecastsHaveTheBarsOfPredictions) {
  NetworkSpec shape =
      with_fixed(small_shape({18}, {6}, 4, 5, 7, true), test::with_hole(make_grid(1, {18}, {1.0})));
  Model file{shape, {member_of(shape, 1), member_of(shape, 2), member_of(shape, 3)}};
  file.cluster = 2;
  const std::size_t channels = 2, kinds = 5, steps = 6, state = 2 * 18;
  ErrorBars bars{.level = 0.9,
                 .trajectories = 19,
                 .channels = channels,
                 .steps = steps,
                 .cluster = 2,
                 .floor = {1e-6, 0.4}};
  for (std::size_t i = 0; i < kinds * steps; ++i) {
    bars.first.push_back(1.0 + Rng(8).uniform(i));
    bars.any.push_back(i % 7 == 3 ? HUGE_VAL : 2.0 + Rng(9).uniform(i));
  }
  bars.widest = {100.0, 100.0, 0.01, 100.0, 100.0, 100.0};
  file.bars = config::json_text(to_value(bars), 0);
  const CModel model(library_, written(file));
  const States<float> in = test::random_states(shape.grid, 1, Rng(5));
  const auto engine = make_cpu_engine(shape, 3, 1);
  for (int m = 0; m < 3; ++m) engine->load(m, file.members[std::size_t(m)]);
  const auto committee = engine->committee({0, 1, 2});
  const stap_model_info& about = *library_.about(model.model);
  EXPECT_EQ(about.level, 0.9);
  EXPECT_EQ(about.bar_steps, 6);
  EXPECT_EQ(about.bar_trajectories, 19);
  for (const int start : {STAP_START_FIRST, STAP_START_ANY}) {
    SCOPED_TRACE(start);
    const PredictedBars exact = predict_bars(*committee, in.view(), 4, bars,
                                             {.from_any = start == STAP_START_ANY, .bands = true});
    std::vector<double> now = doubles(in.row(0)), made(2 * state), all(2), each(4),
                        bands(2 * state);

    ASSERT_EQ(library_.begin(model.model, model.work, start, 0, now.data()), 0);
    for (std::size_t call = 0; call < 4; ++call) {
      now = model.step(STAP_MODEL_MEAN, long(call), now);
      const int unlike = library_.next(model.model, model.work, made.data(), all.data(),
                                       each.data(), bands.data());
      EXPECT_EQ(unlike, call == 1 ? 1 : 0);  // whose widest was 0.01
      EXPECT_EQ(made, now);
      const auto near = [](double a, double b) {
        if (std::isinf(b)) {
          EXPECT_EQ(a, b);
        } else {
          EXPECT_NEAR(a, b, 1e-5 * b);  // differences of states of the size 1 in single precision
        }
      };
      for (std::size_t frame = 0; frame < 2; ++frame) {
        const std::size_t time = 2 + 2 * call + frame;
        near(all[frame], exact.all[time]);
        for (std::size_t c = 0; c < channels; ++c)
          near(each[frame * channels + c], exact.channels[time * channels + c]);
        for (std::size_t v = 0; v < state; ++v)
          near(bands[frame * state + v], exact.bands[time * state + v]);
      }
    }
  }
  EXPECT_EQ(library_.begin(model.model, model.work, 2, 0, doubles(in.row(0)).data()), -1);
}

INSTANTIATE_TEST_SUITE_P(Compiled, CModelTest, testing::ValuesIn(test::c_libraries()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace stap
