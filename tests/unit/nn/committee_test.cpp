#include "stap/core/committee.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/fno.h"
#include "stap/core/error.h"
#include "stap/nn/engine.h"
#include "support/families.h"

namespace stap {
namespace {

using test::small_shape;

class CommitteeTest : public testing::Test {
 protected:
  CommitteeTest() {
    for (int m = 0; m < 3; ++m)
      engine->load(m, fresh_member(shape, test::some_scaling(1), Rng(7).split("m", m)));
    x = committee->rows(8);
    y = committee->rows(8);
    committee->put(x, 0, states.view());
  }
  std::vector<float> row(RowsId id, std::size_t r) const {
    std::vector<float> values(shape.grid.values());
    committee->get(id, r, {values.data(), 1, values.size()});
    return values;
  }

  NetworkSpec shape = small_shape({12}, {4});
  States<float> states = test::random_states(shape.grid, 8, Rng(1));
  std::unique_ptr<Engine> engine = test::make_engine_under_test(shape, 4, 2);
  std::unique_ptr<Committee> committee = engine->committee({0, 1, 2});
  RowsId x{}, y{};
};

TEST_F(CommitteeTest, MeanModelIsTheMeanOfTheMembers) {
  const std::vector<std::size_t> from = {5, 5, 5, 5}, to = {0, 1, 2, 3};
  const std::vector<int> member = {0, 1, 2, kMean};

  committee->advance(x, from, member, y, to);

  for (std::size_t v = 0; v < shape.grid.values(); ++v) {
    const double mean = (double(row(y, 0)[v]) + double(row(y, 1)[v]) + double(row(y, 2)[v])) / 3;
    EXPECT_EQ(row(y, 3)[v], static_cast<float>(mean));
  }
  EXPECT_NE(row(y, 0), row(y, 1));
}

// Mixed members in one call give the same bits as one call each, in place too.
TEST_F(CommitteeTest, MixedCallsEqualSeparateCalls) {
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<int> member = {2, kMean, 0, 1, 0, kMean, 2, 0};

  committee->advance(x, all, member, y, all);
  std::vector<std::vector<float>> separate;
  for (std::size_t r : all) {
    const std::size_t to[] = {7};
    const RowsId other = committee->rows(8);
    committee->advance(x, {&all[r], 1}, {&member[r], 1}, other, to);
    separate.push_back(row(other, 7));
    committee->release(other);
  }
  committee->advance(x, all, member, x, all);

  for (std::size_t r : all) {
    EXPECT_EQ(row(y, r), separate[r]) << r;
    EXPECT_EQ(row(x, r), separate[r]) << r;
  }
}

double mean_of(std::span<const float> values) {
  double sum = 0.0;
  for (const float v : values) sum += static_cast<double>(v);
  return sum / static_cast<double>(values.size());
}

// The same weights with and without: a conserved channel is what it would be, shifted to the mean
// it had before, and the others are untouched. Shapes of one and two axes, channels in the middle,
// both targets; more rows than a bundle has, in the place of their states, by members and by the
// mean model. 2e-6: values of about 1 are rounded once more.
TEST(CommitteeConserves, WhatIsNamedAndNothingElse) {
  std::vector<NetworkSpec> shapes = {
      small_shape({12}, {4}),
      small_shape({129}, {6}, 3, 5, 7, false, NetworkOptions::Target::state),
      small_shape({9, 15}, {4, 6}, 4)};
  const std::vector<std::vector<std::size_t>> conserved = {{0}, {1}, {0, 3}};
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const NetworkSpec& free = shapes[s];
    SCOPED_TRACE(free.grid.shape_text());
    NetworkSpec kept = free;
    kept.conserved = conserved[s];
    const std::size_t rows = 35, points = free.grid.points_total();
    const auto in = test::random_states(free.grid, rows, Rng(s));
    std::vector<std::size_t> index(rows);
    std::vector<int> member(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      index[r] = r;
      member[r] = r % 3 == 2 ? kMean : static_cast<int>(r % 3);
    }
    std::vector<States<float>> made;
    for (const NetworkSpec& shape : {free, kept}) {
      const auto engine = test::make_engine_under_test(shape, 2, 2);
      for (int m = 0; m < 2; ++m)
        engine->load(m, fresh_member(shape, test::some_scaling(shape.grid.channels),
                                     Rng(7).split("m", static_cast<std::uint64_t>(m))));
      const auto committee = engine->committee({0, 1});
      const RowsId x = committee->rows(rows), y = committee->rows(rows);
      committee->put(x, 0, in.view());
      committee->advance(x, index, member, y, index);
      committee->advance(x, index, member, x, index);
      States<float> apart(shape.grid, rows), &in_place = made.emplace_back(shape.grid, rows);
      committee->get(y, 0, apart.view());
      committee->get(x, 0, in_place.view());
      EXPECT_EQ(std::vector<float>(apart.values().begin(), apart.values().end()),
                std::vector<float>(in_place.values().begin(), in_place.values().end()));
    }

    double moved = 0.0;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < free.grid.channels; ++c) {
        const auto channel = [&](const States<float>& states) {
          return states.row(r).subspan(c * points, points);
        };
        const std::span<const float> without = channel(made[0]), with = channel(made[1]);
        const bool is_kept = std::ranges::find(kept.conserved, c) != kept.conserved.end();
        const double shift = is_kept ? mean_of(channel(in)) - mean_of(without) : 0.0;
        moved = std::max(moved, std::abs(shift));
        for (std::size_t p = 0; p < points; ++p)
          ASSERT_NEAR(with[p], static_cast<double>(without[p]) + shift, is_kept ? 2e-6 : 0.0);
      }
    EXPECT_GT(moved, 1e-2);  // else nothing was shown
  }
}

TEST_F(CommitteeTest, DistancesAndSpread) {
  const std::vector<std::size_t> i = {0, 3}, j = {1, 3}, group = {0, 1, 2, 4, 4, 4};
  double distance[2], spread[2];

  committee->distance2(x, i, x, j, distance);
  committee->spread(x, group, spread);

  double expected = 0, expected_spread = 0;
  for (std::size_t v = 0; v < shape.grid.values(); ++v) {
    const double a = row(x, 0)[v], b = row(x, 1)[v], c = row(x, 2)[v], mean = (a + b + c) / 3;
    expected += (a - b) * (a - b);
    expected_spread +=
        ((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean)) / 3;
  }
  EXPECT_EQ(distance[0], expected);  // the same order of the same operations
  EXPECT_EQ(distance[1], 0.0);
  EXPECT_NEAR(spread[0], expected_spread, 1e-12 * expected_spread);
  EXPECT_EQ(spread[1], 0.0);
}

// The slow twin's hidden activations, sent to their coordinates one by one; features were 1 before.
std::vector<double> stated_sketch(const NetworkSpec& shape, const MemberState& state,
                                  std::span<const float> row, std::size_t step, int member) {
  const reference::DoubleParameters weights(state.weights);
  reference::Fno::Field hidden;
  reference::Fno(shape, weights, state.scaling).advance(row, {}, &hidden);
  std::vector<double> expected(kSketchSize, 1.0);
  for (std::uint32_t c = 0; c < hidden.size(); ++c)
    for (std::uint32_t p = 0; p < hidden[c].size(); ++p) {
      if (shape.fixed && shape.fixed->mask[p] == 0) continue;
      const auto bits =
          philox({c, p, static_cast<std::uint32_t>(step + 1), static_cast<std::uint32_t>(member)},
                 {0x736b6574, 0x63683531});
      for (std::uint32_t k = 0; k < 4; ++k)
        expected[k * 128 + bits[k] % 128] += (bits[k] >> 31 ? -0.5 : 0.5) * hidden[c][p];
    }
  return expected;
}

// float sums of 12 x 8 activations: 1e-5 of the sketch's norm.
TEST_F(CommitteeTest, SketchIsTheStatedMapOfTheHiddenActivations) {
  const std::vector<std::size_t> from = {2, 3}, to = {0, 1};
  const std::vector<int> member = {1, 0};
  const std::size_t step = 3;
  std::vector<double> features(2 * kSketchSize, 1.0);

  committee->sketch(x, from, member, step, y, to, features);

  const RowsId plain = committee->rows(2);
  committee->advance(x, from, member, plain, to);
  for (std::size_t r = 0; r < 2; ++r) {
    const std::vector<double> expected =
        stated_sketch(shape, engine->save(member[r]), states.row(from[r]), step, member[r]);
    const std::vector<double> found(features.begin() + static_cast<long>(r * kSketchSize),
                                    features.begin() + static_cast<long>((r + 1) * kSketchSize));
    EXPECT_LT(test::relative_l2(found, expected), 1e-5);
    EXPECT_EQ(row(y, r), row(plain, r));
  }
}

// float sums of parts of 100 x 71 activations (a GPU makes four): 1e-5 of the sketch's norm.
class CommitteeSketch : public testing::TestWithParam<NetworkSpec> {};
const NetworkSpec many_activations = small_shape({100}, {6}, 2, 5, 70);
INSTANTIATE_TEST_SUITE_P(
    Shapes, CommitteeSketch,
    testing::Values(many_activations, test::with_padding(many_activations, {"centres"}, {0.3}),
                    test::with_padding(many_activations, {"points"}, {0.3}, {"odd"},
                                       test::with_hole(many_activations.grid))));
// Mutation: activations of padding, or of masked points; places in the body's grid.
TEST_P(CommitteeSketch, OfManyActivationsIsTheStatedMap) {
  const NetworkSpec& shape = GetParam();
  const auto states = test::random_states(shape.grid, 6, Rng(2));
  const auto engine = test::make_engine_under_test(shape, 1, 2);
  const MemberState state = fresh_member(shape, test::some_scaling(2), Rng(3));
  engine->load(0, state);
  const auto committee = engine->committee({0});
  const RowsId rows = committee->rows(6);
  committee->put(rows, 0, states.view());
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5};
  std::vector<double> features(6 * kSketchSize, 1.0);

  committee->sketch(rows, all, std::vector<int>(6, 0), 1, rows, all, features);

  for (std::size_t r : all) {
    const std::vector<double> found(features.begin() + static_cast<long>(r * kSketchSize),
                                    features.begin() + static_cast<long>((r + 1) * kSketchSize));
    EXPECT_LT(test::relative_l2(found, stated_sketch(shape, state, states.row(r), 1, 0)), 1e-5);
  }
}

TEST_F(CommitteeTest, NotFiniteStaysNotFiniteAndAlone) {
  std::vector<float> broken(shape.grid.values(), 1.0f);
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  committee->put(x, 6, {broken.data(), 1, broken.size()});
  const std::vector<std::size_t> all = {5, 6, 7};
  const std::vector<int> member = {0, 0, 0};
  const RowsId clean = committee->rows(8);
  committee->advance(x, {all.data(), 1}, {member.data(), 1}, clean, {all.data(), 1});

  committee->advance(x, all, member, y, all);

  EXPECT_TRUE(std::isnan(row(y, 6)[0]));
  EXPECT_EQ(row(y, 5), row(clean, 5));

  // Nothing of it is left where a shorter call works.
  committee->advance(x, {all.data(), 1}, {member.data(), 1}, y, {all.data(), 1});

  EXPECT_EQ(row(y, 5), row(clean, 5));
}

// One row after the other is what calls of any size must equal. Sizes cross, and come back to, what
// a GPU treats differently: bundles of 32 rows, batches that are replayed, branches side by side,
// and groups of bundles one after the other.
class Calls : public testing::TestWithParam<test::NetworkCase> {
 protected:
  std::vector<std::size_t> sizes() const { return {1, 31, 33, 64, 65, 200, most, 200, 65, 1}; }

  Calls() {
    for (int m = 0; m < 3; ++m)
      engine->load(m, fresh_member(shape, test::some_scaling(1), Rng(7).split("m", m)));
    from = committee->rows(most);
    to = committee->rows(most);
    for (std::size_t r = 0; r < most; ++r) {
      index.push_back(r);
      steps.push_back(static_cast<std::uint32_t>(r % 5 * test::kHorizon / 5));
    }
    committee->put(from, 0, states.view(), {steps});
  }
  // Rows first .. first+n-1, by members in turn; with the mean model: it, too.
  void advance(std::size_t first, std::size_t n, bool mean) {
    committee->advance(from, part(index, first, n), part(members(mean), first, n), to,
                       part(index, first, n));
  }
  void sketch(std::size_t first, std::size_t n, std::vector<double>& features) {
    committee->sketch(from, part(index, first, n), part(members(false), first, n), 3, to,
                      part(index, first, n),
                      std::span(features).subspan(first * kSketchSize, n * kSketchSize));
  }
  States<float> result(std::size_t n) const {
    States<float> result(shape.grid, n);
    committee->get(to, 0, result.view());
    return result;
  }
  std::vector<int> members(bool mean) const {
    std::vector<int> members;
    for (int r = 0; r < static_cast<int>(most); ++r)
      members.push_back(mean && r % 4 == 3 ? kMean : r % 4 % 3);
    return members;
  }
  template <class T>
  static std::vector<T> part(const std::vector<T>& all, std::size_t first, std::size_t n) {
    const auto begin = all.begin() + static_cast<long>(first);
    return {begin, begin + static_cast<long>(n)};
  }
  static std::vector<float> values(const States<float>& states, std::size_t n) {
    const auto all = states.values().first(n * states.view().row_size);
    return {all.begin(), all.end()};
  }

  NetworkSpec shape = GetParam().network;
  std::size_t most = shape.grid.axes() == 1 ? 2500 : 700;
  States<float> states = test::random_states(shape.grid, most, Rng(1));
  std::unique_ptr<Engine> engine = test::make_engine_under_test(shape, 3, 2);
  std::unique_ptr<Committee> committee = engine->committee({0, 1, 2});
  RowsId from{}, to{};
  std::vector<std::size_t> index;
  std::vector<std::uint32_t> steps;
};

INSTANTIATE_TEST_SUITE_P(Families, Calls,
                         testing::ValuesIn(test::networks_of_families(20, 1, {16, 32}, true)),
                         [](const auto& test) { return test.param.name; });

TEST_P(Calls, OfAnySizeAdvanceAlike) {
  for (std::size_t r = 0; r < most; ++r) advance(r, 1, true);
  const States<float> expected = result(most);

  for (const std::size_t n : sizes()) {
    committee->put(to, 0, states.view());
    advance(0, n, true);

    EXPECT_EQ(values(result(n), n), values(expected, n)) << n;
  }
}

TEST_P(Calls, OfAnySizeSketchAlike) {
  std::vector<double> expected(most * kSketchSize, 0.25);
  for (std::size_t r = 0; r < most; ++r) sketch(r, 1, expected);
  const States<float> expected_states = result(most);

  for (const std::size_t n : sizes()) {
    std::vector<double> features(most * kSketchSize, 0.25);
    committee->put(to, 0, states.view());
    sketch(0, n, features);

    EXPECT_EQ(part(features, 0, n * kSketchSize), part(expected, 0, n * kSketchSize)) << n;
    EXPECT_EQ(values(result(n), n), values(expected_states, n)) << n;
  }
}

// In double, in grid order: the same operations here.
TEST_P(Calls, OfAnySizeMeasureAlike) {
  std::vector<std::size_t> next;
  std::vector<double> expected(most, 0.0);
  for (std::size_t r = 0; r < most; ++r) {
    next.push_back((r + 1) % most);
    for (std::size_t v = 0; v < shape.grid.values(); ++v) {
      const double d = double(states.row(r)[v]) - double(states.row(next[r])[v]);
      expected[r] += d * d;
    }
  }

  for (const std::size_t n : sizes()) {
    std::vector<double> distance(n);
    committee->distance2(from, part(index, 0, n), from, part(next, 0, n), distance);

    EXPECT_EQ(distance, part(expected, 0, n)) << n;
  }
}

// Broken by: working memory that is used after it was given back, or rows that go with it.
TEST_P(Calls, AreTheSameAfterMemoryWasGivenBack) {
  advance(0, 65, true);
  const States<float> before = result(65);

  committee->trim();
  const States<float> kept = result(65);
  advance(0, 65, true);

  EXPECT_EQ(values(kept, 65), values(before, 65));
  EXPECT_EQ(values(result(65), 65), values(before, 65));
}

// A committee that was there before its members were trained further is as good as a new one.
TEST_P(Calls, ReadTheWeightsOfTheMoment) {
  const test::Transitions data(shape, 9, Rng(4));
  advance(0, 65, true);
  const States<float> before = result(65);

  std::vector<FitJob> jobs;
  for (int m = 0; m < 3; ++m) {
    FitOptions options;
    options.epochs = 2;
    jobs.push_back({m, data.view(), options, Rng(5)});
  }
  Observer observer;
  engine->fit(jobs, observer);
  advance(0, 65, true);
  const States<float> after = result(65);

  const auto other = test::make_engine_under_test(shape, 3, 2);
  for (int m = 0; m < 3; ++m) other->load(m, engine->save(m));
  committee = other->committee({0, 1, 2});
  from = committee->rows(most);
  to = committee->rows(most);
  committee->put(from, 0, states.view(), {steps});
  advance(0, 65, true);
  EXPECT_NE(values(after, 65), values(before, 65));
  EXPECT_EQ(values(after, 65), values(result(65), 65));
  committee.reset();  // before its engine
}

}  // namespace
}  // namespace stap
