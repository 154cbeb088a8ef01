// Metrics of k-in, k-out committees: over single steps, as if the clusters were not there.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "reference/metrics.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/eval/metrics.h"
#include "support/clusters.h"
#include "support/fake_committee.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::FakeCommittee;

struct Case {
  std::size_t k, channels, calls, count;
};

// Rounding: sums of at most 1e3 terms in double, relative.
constexpr double kRounding = 1e-12;

void expect_near(double value, double expected) {
  EXPECT_NEAR(value, expected, kRounding * std::abs(expected));
}

TEST(MultistepMetrics, AreThoseOfTheTwinOverSingleSteps) {
  for (const Case& c : {Case{1, 2, 3, 4}, Case{2, 1, 3, 5}, Case{3, 2, 1, 1}, Case{4, 1, 2, 3}}) {
    const Grid grid = make_grid(c.channels, {3}, {1.0}), clusters = cluster_grid(grid, c.k);
    const std::size_t times = c.k * (c.calls + 1), steps = c.k * c.calls;
    const States<float> test = test::random_states(grid, c.count * times, Rng(c.k));
    FakeCommittee committee(clusters, test::linear_members(2, clusters.values(), Rng(9)), c.calls);

    const Metrics metrics = evaluate(committee, {test.view(), times, c.k}, 2);

    std::vector<reference::Errors> all;
    double q50 = 0;
    for (int m = 0; m < 2; ++m) {
      std::vector<double> rmse;
      for (std::size_t b = 0; b < c.count; ++b) {
        const auto states = test::to_cluster<float>(
            test.values().subspan(b * times * grid.values(), times * grid.values()), grid);
        const auto model = [&](const reference::Cluster& cluster, double time) {
          const auto next = committee.apply(m, test::to_values<float>(cluster), time);
          return test::to_cluster<float>(next, grid);
        };
        const auto first = states.begin() + static_cast<long>(c.k);
        all.push_back(reference::errors_of(
            reference::unrolled(model, {states.begin(), first}, c.calls), {first, states.end()}));
        rmse.push_back(all.back().rmse);
      }
      q50 += reference::quantile_of(rmse, 0.5) / 2;
    }
    const auto mean = [&](const auto& of) {
      double sum = 0;
      for (const reference::Errors& errors : all) sum += of(errors);
      return sum / static_cast<double>(all.size());
    };
    EXPECT_EQ(metrics.steps, steps);
    EXPECT_EQ(metrics.points, 3u);
    EXPECT_EQ(metrics.trajectories, c.count);
    expect_near(metrics.rmse, mean([](const auto& e) { return e.rmse; }));
    expect_near(metrics.nrmse, mean([](const auto& e) { return e.nrmse; }));
    expect_near(metrics.mae, mean([](const auto& e) { return e.mae; }));
    expect_near(metrics.rmse_q50, q50);
    ASSERT_EQ(metrics.rmse_by_step.size(), steps);
    for (std::size_t i = 0; i < steps; ++i)
      expect_near(metrics.rmse_by_step[i], mean([i](const auto& e) { return e.by_step[i]; }));
  }
}

// A member that makes k single steps is as good as one that makes them one by one, bit for bit.
TEST(MultistepMetrics, EqualThoseOfTheSameStepsOneByOne) {
  constexpr std::size_t kStates = 3, kTimes = 9, kCount = 4;
  const Grid grid = make_grid(2, {2}, {1.0});
  const auto step = [](std::vector<float> state) {
    for (std::size_t v = 0; v < state.size(); ++v)
      state[v] = 0.9f * state[v] + 0.1f * state[(v + 1) % state.size()];
    return state;
  };
  FakeCommittee single(grid, {[&](const auto& u, double) { return step(u); }});
  FakeCommittee clustered(cluster_grid(grid, kStates), {[&](const auto& u, double) {
                            std::vector<float> last(u.end() - 4, u.end()), next;
                            for (std::size_t s = 0; s < kStates; ++s) {
                              last = step(last);
                              next.insert(next.end(), last.begin(), last.end());
                            }
                            return next;
                          }});
  const States<float> test = test::random_states(grid, kCount * kTimes, Rng(4));
  // The same trajectories from u^0 on: without the first two states of the initial cluster.
  States<float> later(grid, kCount * (kTimes - 2));
  for (std::size_t b = 0; b < kCount; ++b)
    for (std::size_t t = 2; t < kTimes; ++t)
      std::ranges::copy(test.row(b * kTimes + t), later.row(b * (kTimes - 2) + t - 2).begin());

  Metrics by_cluster = evaluate(clustered, {test.view(), kTimes, kStates});
  const Metrics one_by_one = evaluate(single, {std::as_const(later).view(), kTimes - 2});

  EXPECT_EQ(std::exchange(by_cluster.cluster, 1), kStates);
  EXPECT_EQ(by_cluster, one_by_one);
}

TEST(MultistepMetrics, WantWholeClusters) {
  const Grid grid = make_grid(1, {2}, {1.0});
  FakeCommittee committee(cluster_grid(grid, 2), test::linear_members(1, 4, Rng(1)));
  const States<float> states = test::random_states(grid, 12, Rng(1));
  const auto refused = [&](std::size_t times, std::size_t cluster) {
    try {
      evaluate(committee, {states.view(), times, cluster});
    } catch (const Error& error) {
      return error.kind() == ErrorKind::data;
    }
    return false;
  };

  EXPECT_FALSE(refused(4, 2));
  EXPECT_TRUE(refused(3, 2));
  EXPECT_TRUE(refused(2, 2));
  EXPECT_TRUE(refused(4, 1));
}

}  // namespace
}  // namespace stap
