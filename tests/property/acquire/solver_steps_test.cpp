// Where the solver helps most, against rollouts of one state at a time.
#include "stap/acquire/solver_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "support/acquiring.h"
#include "support/refusals.h"

namespace stap {
namespace {

using reference::Model;
using reference::State;
using test::World;

// Sums of a few hundred positive doubles.
constexpr double kRounding = 1e-12;

// [step]: mean over members of |u - u_S|^2, u the member's own rollout, u_S made by the member
// where S is 1 and by the averaged model where it is 0.
std::vector<double> slow_squares(const World& world, std::size_t id, const Pattern& pattern) {
  const std::vector<Model> models = world.models();
  const Model mean = world.model(kMean);
  std::vector<double> squares(world.steps, 0.0);
  for (const Model& model : models) {
    State own = world.state(id), mixed = own;
    for (std::size_t t = 0; t < world.steps; ++t) {
      const double time = static_cast<double>(t) / static_cast<double>(world.steps);
      own = model(own, time);
      mixed = (pattern[t] ? model : mean)(mixed, time);
      for (std::size_t v = 0; v < own.size(); ++v) {
        const double d = static_cast<double>(own[v]) - static_cast<double>(mixed[v]);
        squares[t] += d * d / static_cast<double>(models.size());
      }
    }
  }
  return squares;
}

double slow_sum(const World& world, std::size_t id, const Pattern& pattern) {
  double sum = 0;
  for (const double square : slow_squares(world, id, pattern)) sum += square;
  return sum;
}

PlacedSteps placed(World& world, std::size_t id, std::size_t cost) {
  return place_solver_steps(*world.committee,
                            {.state = world.pool.row(id), .steps = world.steps, .cost = cost});
}

// A single step is the best of all. What is said of the squares is so, and more steps of the
// solver never leave more. Mutations: the averaged model and the member exchanged, a trial that
// starts one step late, distances to the averaged model's rollout.
TEST(SolverSteps, AreWhereTheyHelpMost) {
  for (World& world : test::some_worlds(2))
    for (const std::size_t id : world.open) {
      const double nothing = slow_sum(world, id, Pattern(world.steps));
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t t = 0; t < world.steps; ++t) {
        Pattern one(world.steps);
        one.set(t, true);
        best = std::min(best, slow_sum(world, id, one));
      }

      const PlacedSteps one = placed(world, id, 1);
      EXPECT_EQ(one.pattern.cost(), 1u);
      EXPECT_NEAR(slow_sum(world, id, one.pattern), best, kRounding * nothing);
      for (const std::size_t cost : {std::size_t{0}, world.steps / 2, world.steps}) {
        const PlacedSteps some = placed(world, id, cost);
        EXPECT_EQ(some.pattern.cost(), cost);
        const std::vector<double> squares = slow_squares(world, id, some.pattern);
        for (std::size_t t = 0; t < world.steps; ++t)
          EXPECT_NEAR(some.squared[t], squares[t], kRounding * nothing);
      }
      EXPECT_EQ(placed(world, id, world.steps).squared, std::vector<double>(world.steps, 0.0));
    }
}

// The sum of squares that planning compares, in its order of additions: equal bits, equal choices.
double slow_total(const World& world, std::size_t id, const Pattern& pattern) {
  const std::vector<Model> models = world.models();
  std::vector<State> own(models.size(), world.state(id)), mixed = own;
  double total = 0;
  for (std::size_t t = 0; t < world.steps; ++t) {
    const double time = static_cast<double>(t) / static_cast<double>(world.steps);
    double now = 0;
    for (std::size_t m = 0; m < models.size(); ++m) {
      own[m] = models[m](own[m], time);
      mixed[m] = (pattern[t] ? models[m] : world.model(kMean))(mixed[m], time);
      double square = 0;
      for (std::size_t v = 0; v < own[m].size(); ++v) {
        const double d = static_cast<double>(own[m][v]) - static_cast<double>(mixed[m][v]);
        square += d * d;
      }
      now += square;
    }
    total += now;
  }
  return total;
}

// Each pattern from the beginning.
Pattern slow_pattern(const World& world, std::size_t id, std::size_t cost) {
  Pattern pattern(world.steps);
  const auto put_best = [&](std::optional<std::size_t> unless_better) {
    std::optional<std::size_t> best;
    double least = 0;
    const auto try_step = [&](std::size_t step) {
      if (pattern[step]) return;
      pattern.set(step, true);
      const double sum = slow_total(world, id, pattern);
      pattern.set(step, false);
      if (best && sum >= least) return;
      best = step;
      least = sum;
    };
    if (unless_better) try_step(*unless_better);
    for (std::size_t step = 0; step < world.steps; ++step) try_step(step);
    pattern.set(*best, true);
  };
  for (std::size_t k = 0; k < cost; ++k) put_best({});
  if (cost > 1 && cost < world.steps)
    for (std::size_t step = 0; step < world.steps; ++step)
      if (pattern[step]) {
        pattern.set(step, false);
        put_best(step);
      }
  return pattern;
}

// Mutations: a time that is kept too late by one step, sums that are not kept with the rows, rows
// of the pattern before the last.
TEST(SolverSteps, AreThoseOfPatternsFromTheBeginning) {
  for (World& world : test::some_worlds(2))
    for (const std::size_t id : world.open)
      for (std::size_t cost = 0; cost <= world.steps; ++cost)
        EXPECT_EQ(placed(world, id, cost).pattern.text(), slow_pattern(world, id, cost).text());
}

TEST(SolverSteps, AtEqualDistancesAndAtRandom) {
  EXPECT_EQ(even_steps(8, 3).text(), "10100100");
  EXPECT_EQ(even_steps(5, 5).text(), "11111");
  EXPECT_EQ(even_steps(5, 0).text(), "00000");
  std::vector<std::size_t> taken(6, 0);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Pattern pattern = random_steps(6, 2, Rng(3).split("row", i));
    EXPECT_EQ(pattern.cost(), 2u);
    for (std::size_t t = 0; t < 6; ++t) taken[t] += pattern[t] ? 1 : 0;
  }
  // 3,000 draws with probability 1/3: five standard deviations are 129. Mutation: a step that can
  // never be drawn.
  for (const std::size_t count : taken) EXPECT_NEAR(static_cast<double>(count), 1000, 129);
}

TEST(SolverSteps, OfOneNetworkCannotBePlanned) {
  World world = test::linear_world(1, 1, 3, 1);
  test::expect_error(ErrorKind::config, "there is only one", [&] { placed(world, 0, 1); });
}

}  // namespace
}  // namespace stap
