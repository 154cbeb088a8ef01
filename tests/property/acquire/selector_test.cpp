// Laws of every selector, and the frequencies of those that draw.
#include "stap/acquire/selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "reference/lcmd.h"
#include "stap/acquire/methods.h"
#include "stap/core/resident_rows.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::World;
using Ids = std::vector<std::size_t>;

std::vector<std::unique_ptr<Selector>> all_selectors() {
  std::vector<std::unique_ptr<Selector>> selectors;
  for (const SelectorRow& row : selector_table()) selectors.push_back(row.make({}, {}));
  return selectors;
}

// Two members on one value, u -> u and u -> -u, one step: q(u0) = u0^2.
World square_world(const std::vector<float>& values) {
  World world;
  const Grid grid = make_grid(1, {1}, {1.0});
  world.pool = States<float>(grid, values.size());
  std::copy(values.begin(), values.end(), world.pool.values().begin());
  for (std::size_t id = 0; id < values.size(); ++id) world.open.push_back(id);
  world.steps = 1;
  world.committee = std::make_unique<FakeCommittee>(
      grid, std::vector<FakeCommittee::Member>{
                [](const std::vector<float>& u, double) { return u; },
                [](const std::vector<float>& u, double) { return std::vector<float>{-u[0]}; }});
  return world;
}

// Breaks if noise is keyed by the position in `open`.
TEST(SelectorProperty, PermutingOpenDoesNotChangeTheOrder) {
  for (World& world : test::some_worlds(9))
    for (const auto& selector : all_selectors())
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Order order = selector->order(*world.committee, world.candidates(), 9, Rng(seed));
        World permuted = std::move(world);
        std::reverse(permuted.open.begin(), permuted.open.end());
        std::swap(permuted.open[0], permuted.open[4]);

        const Order again =
            selector->order(*permuted.committee, permuted.candidates(), 9, Rng(seed));

        EXPECT_EQ(order.ids, again.ids) << selector->name();
        world = std::move(permuted);
        std::sort(world.open.begin(), world.open.end());
      }
}

// Closing candidates only removes them: the others keep their order (their noise is their own).
// Not for selectors by distance, to which closed ones are centres. Breaks if noise is keyed by the
// position in `open`.
TEST(SelectorProperty, ClosingCandidatesKeepsTheOrderOfTheOthers) {
  for (World& world : test::some_worlds(9))
    for (const auto& selector : all_selectors()) {
      if (selector->name() == "lcmd" || selector->name() == "core-set") continue;
      const Order all = selector->order(*world.committee, world.candidates(), 9, Rng(5));
      const Ids left = {0, 3, 4, 8};

      const Order some =
          selector->order(*world.committee, {world.pool.view(), left, world.steps}, 9, Rng(5));

      Ids expected;
      for (std::size_t id : all.ids)
        if (std::count(left.begin(), left.end(), id) > 0) expected.push_back(id);
      EXPECT_EQ(some.ids, expected) << selector->name();
    }
}

// Breaks if `at_most` reaches a draw or a candidate is given twice.
TEST(SelectorProperty, OrdersArePrefixStableAndWithoutRepetition) {
  for (World& world : test::some_worlds(9))
    for (const auto& selector : all_selectors()) {
      const Order all = selector->order(*world.committee, world.candidates(), 100, Rng(2));
      EXPECT_EQ(std::set<std::size_t>(all.ids.begin(), all.ids.end()).size(), 9u);
      EXPECT_EQ(all.ids.size(), 9u);

      for (std::size_t n = 0; n <= 9; ++n) {
        const Order some = selector->order(*world.committee, world.candidates(), n, Rng(2));
        EXPECT_EQ(some.ids, Ids(all.ids.begin(), all.ids.begin() + static_cast<long>(n)))
            << selector->name();
      }
    }
}

// Breaks if the order is ascending, or q = 0 passes a comparison or a logarithm.
TEST(SelectorProperty, LargestSpreadFirstAndNoSpreadLast) {
  World world = square_world({2.0f, 0.0f, -3.0f, 1.0f, 0.0f, 3.0f});

  const Order qbc = make_qbc()->order(*world.committee, world.candidates(), 6, Rng(0));

  EXPECT_EQ(qbc.ids, (Ids{2, 5, 0, 3, 1, 4}));
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    for (const double exponent : {0.0, 1.0, 3.0}) {
      const Order sbal =
          make_sbal({exponent})->order(*world.committee, world.candidates(), 6, Rng(seed));
      EXPECT_EQ(Ids(sbal.ids.begin() + 4, sbal.ids.end()), (Ids{1, 4}));
      EXPECT_EQ(sbal.not_finite, 0u);
    }
}

// Both draw from one stream. Breaks if a key holds the method's name, or the noise has a sign
// error.
TEST(SelectorProperty, SbalWithExponentZeroIsRandom) {
  for (World& world : test::some_worlds(9))
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      EXPECT_EQ(make_sbal({0.0})->order(*world.committee, world.candidates(), 9, Rng(seed)).ids,
                make_random()->order(*world.committee, world.candidates(), 9, Rng(seed)).ids);
}

// Breaks if a comparison with NaN lets them in, or infinity counts as a large score.
TEST(SelectorProperty, NotFiniteCandidatesAreCountedAndNeverChosenByAScore) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  World world = square_world({1.0f, nan, 2.0f, infinity, 3.0f});
  for (const auto& selector : all_selectors()) {
    const bool scores = selector->name() != "random";

    const Order order = selector->order(*world.committee, world.candidates(), 5, Rng(1));

    Ids sorted = order.ids;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, scores ? (Ids{0, 2, 4}) : (Ids{0, 1, 2, 3, 4})) << selector->name();
    EXPECT_EQ(order.not_finite, scores ? 2u : 0u) << selector->name();
  }
}

// The features of one trajectory, member by member and step by step.
reference::Point features_of(const World& world, std::size_t id) {
  Committee& committee = *world.committee;
  reference::Point sum(kSketchSize, 0.0);
  const std::size_t zero[] = {0};
  for (int member = 0; member < committee.members(); ++member) {
    const RowsId row = committee.rows(1);
    committee.put(row, 0, world.pool.view().rows(id, 1));
    for (std::size_t step = 0; step < world.steps; ++step) {
      committee.sketch(row, zero, {&member, 1}, step, row, zero, sum);
    }
    committee.release(row);
  }
  return sum;
}

// Against the textbook, with and without centres. Breaks if a closed trajectory is no centre, if
// the weight of a cluster is not of squared distances, if a taken candidate keeps its weight, or if
// LCMD takes the farthest of all instead of the heaviest cluster's.
TEST(SelectorProperty, SelectorsByDistanceFollowTheTextbook) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    for (const Ids& closed : {Ids{}, Ids{3}, Ids{0, 5, 11}}) {
      World world = test::network_world(seed, 2, 3, 13);
      std::erase_if(world.open, [&](std::size_t id) {
        return std::count(closed.begin(), closed.end(), id) > 0;
      });
      std::vector<reference::Point> candidates, centres;
      for (std::size_t id : world.open) candidates.push_back(features_of(world, id));
      for (std::size_t id : closed) centres.push_back(features_of(world, id));

      const Order lcmd = make_lcmd()->order(*world.committee, world.candidates(), 13, Rng(0));
      const Order core = make_core_set()->order(*world.committee, world.candidates(), 13, Rng(0));

      Ids expected_lcmd, expected_core;
      for (std::size_t c : reference::take_by_distance(candidates, centres, true))
        expected_lcmd.push_back(world.open[c]);
      for (std::size_t c : reference::take_by_distance(candidates, centres, false))
        expected_core.push_back(world.open[c]);
      EXPECT_EQ(lcmd.ids, expected_lcmd) << seed << ", " << closed.size() << " closed";
      EXPECT_EQ(core.ids, expected_core) << seed << ", " << closed.size() << " closed";
    }
}

// One network is enough. Breaks if a spread is asked for.
TEST(SelectorProperty, SelectorsByDistanceWorkWithOneMember) {
  World world = test::network_world(7, 1, 2, 6);
  for (const auto& selector : {make_lcmd(), make_core_set()})
    EXPECT_EQ(selector->order(*world.committee, world.candidates(), 4, Rng(0)).ids.size(), 4u);
}

// Breaks if Random scores the pool.
TEST(SelectorProperty, RandomNeverAsksTheCommittee) {
  World world = test::linear_world(1, 2, 4, 20);

  make_random()->order(*world.committee, world.candidates(), 20, Rng(1));

  const auto& committee = dynamic_cast<FakeCommittee&>(*world.committee);
  EXPECT_EQ(committee.advanced, 0u);
}

// The first two of four candidates, drawn without replacement with these weights, against the 12
// probabilities w_i / W * w_j / (W - w_i): chi-square with 11 degrees of freedom, false alarm 1e-6
// (and the seeds are fixed, so a correct program fails always or never).
void expect_frequencies(const Selector& selector, const World& world,
                        const std::vector<double>& weights) {
  constexpr std::size_t draws = 20000;
  constexpr double limit = 48.9;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> seen;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Order order =
        selector.order(*world.committee, world.candidates(), 2, Rng(7).split("round", seed));
    ++seen[{order.ids.at(0), order.ids.at(1)}];
  }
  double total = 0.0, chi2 = 0.0;
  for (double w : weights) total += w;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < weights.size(); ++j) {
      if (i == j) continue;
      const double expected =
          static_cast<double>(draws) * weights[i] / total * weights[j] / (total - weights[i]);
      const double difference = static_cast<double>(seen[{i, j}]) - expected;
      chi2 += difference * difference / expected;
    }
  EXPECT_LT(chi2, limit) << selector.name();
}

// Breaks if the noise is not Gumbel's, has the wrong sign, or the exponent is applied to it.
TEST(SelectorFrequencies, SbalDrawsInProportionToThePowerOfTheSpread) {
  const World world = square_world({1.0f, 2.0f, 3.0f, 4.0f});

  expect_frequencies(*make_sbal({1.0}), world, {1, 4, 9, 16});
  expect_frequencies(*make_sbal({0.5}), world, {1, 2, 3, 4});
  expect_frequencies(*make_sbal({0.0}), world, {1, 1, 1, 1});
}

// Breaks if neighbouring ids have related noise.
TEST(SelectorFrequencies, RandomDrawsUniformly) {
  const World world = square_world({1.0f, 2.0f, 3.0f, 4.0f});

  expect_frequencies(*make_random(), world, {1, 1, 1, 1});
}

}  // namespace
}  // namespace stap
