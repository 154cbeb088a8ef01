// Purchases by clusters against the slow twin that knows single states only.
#include <gtest/gtest.h>

#include <numeric>

#include "stap/acquire/methods.h"
#include "stap/acquire/planner.h"
#include "stap/core/cluster.h"
#include "support/clusters.h"
#include "support/fake_committee.h"
#include "support/networks.h"
#include "support/trading.h"

namespace stap {
namespace {

// u -> 0.75 u + time + 1/3, which no float holds; counts its steps.
class Affine final : public BatchSolver {
 public:
  explicit Affine(Grid grid) : BatchSolver("affine", std::move(grid), 0.25) {}
  static double next(double value, double time) { return 0.75 * value + time + 1.0 / 3.0; }
  mutable std::size_t computed = 0;

 private:
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    computed += queries.size();
    for (std::size_t i = 0; i < queries.size(); ++i) {
      answers[i]->status = Answer::Status::ok;
      for (double value : queries[i]->state)
        answers[i]->states.push_back(next(value, queries[i]->time));
    }
  }
};

// Breaks if a step starts from another frame than the last, gets the time of its cluster instead of
// its own, or if a bit is charged as one solver step.
TEST(MultistepProperty, PurchasesAreThoseOfTheTwin) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Rng rng = Rng(77).split("case", seed);
    const std::size_t k = 1 + seed % 4, channels = 1 + seed % 2, calls = 2 + seed % 3;
    const std::size_t budget = 1 + rng.below(0, 4 * calls);  // in bits
    const Grid grid = make_grid(channels, {3}, {1.0}), clusters = cluster_grid(grid, k);
    test::FakeCommittee committee(
        clusters, test::linear_members(2, clusters.values(), rng.split("nets")), calls);
    const States<float> pool = test::random_states(clusters, 4 * calls, rng.split("pool"));
    States<double> exact(clusters, pool.count());
    convert(pool.values(), exact.values());
    std::vector<std::size_t> open(pool.count());
    std::iota(open.begin(), open.end(), std::size_t{0});
    const auto single = std::make_shared<Affine>(grid);
    const auto solver = make_clustered_solver(single, k);
    const auto planner =
        make_two_part_planner(make_random(), make_stap({.proposals = 20, .epsilon = 0.3}));
    const Plan plan = planner->begin(committee, {pool.view(), open, calls}, rng)->next(budget);

    const Delivery delivery =
        test::buy(plan, budget, std::as_const(exact).view(), *solver, committee);

    const auto step = [](const reference::Field& state, double time) {
      reference::Field next = state;
      for (auto& channel : next)
        for (double& value : channel) value = Affine::next(value, time);
      return next;
    };
    const auto mean = [&](const reference::Cluster& cluster, double time) {
      const auto next = committee.apply(kMean, test::to_values<float>(cluster), time);
      return test::to_cluster<float>(next, grid);
    };
    std::size_t next = 0, solver_steps = 0;
    for (const Purchase& p : plan.purchases) {
      const auto expected = reference::purchase(
          p.pattern, test::to_cluster<double>(std::as_const(exact).row(p.candidate), grid), 0.25,
          step, mean);
      solver_steps += expected.solver_steps;
      for (std::size_t i = 0; i < expected.at.size(); ++i, ++next) {
        ASSERT_LT(next, delivery.bought.size());
        const Bought& bought = delivery.bought[next];
        EXPECT_EQ(bought.candidate, p.candidate);
        EXPECT_EQ(bought.step, expected.at[i]);
        EXPECT_EQ(bought.input, test::to_values<double>(expected.transitions[i].first));
        EXPECT_EQ(bought.output, test::to_values<double>(expected.transitions[i].second));
      }
    }
    EXPECT_EQ(next, delivery.bought.size());
    EXPECT_EQ(single->computed, solver_steps);
    EXPECT_EQ(solver_steps, k * budget) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stap
