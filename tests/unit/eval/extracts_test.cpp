#include "stap/eval/extracts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "support/fake_committee.h"
#include "support/function_committee.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::FunctionCommittee;

// Trajectories that stand still at `values`; members that pull towards 0, so that large values have
// large errors: after i steps of the mean model 0.5^i of the value is left.
struct Still {
  explicit Still(std::vector<float> values, std::size_t times_of_each = 4)
      : times(times_of_each), states(make_grid(1, {2}, {1.0}), values.size() * times) {
    for (std::size_t row = 0; row < states.count(); ++row)
      for (float& v : states.row(row)) v = values[row / times];
  }
  TrajectoriesView view() const { return {states.view(), times}; }

  std::size_t times;
  States<float> states;
  FunctionCommittee committee{
      make_grid(1, {2}, {1.0}),
      {[](float v, double) { return 0.25f * v; }, [](float v, double) { return 0.75f * v; }}};
};

TEST(Extracts, AreTheBestTheMedianAndTheWorstOfTheMeanModel) {
  Still still({8, 2, 32, 4, 16});

  const Metrics metrics = evaluate(still.committee, still.view());
  const Extracts extracts = take_extracts(still.committee, still.view(), metrics);

  EXPECT_EQ(extracts.times, (std::vector<std::size_t>{0, 1, 2, 3}));
  ASSERT_EQ(extracts.rollouts.size(), 3u);
  EXPECT_EQ(extracts.rollouts[0].trajectory, 1u);
  EXPECT_EQ(extracts.rollouts[1].trajectory, 0u);
  EXPECT_EQ(extracts.rollouts[2].trajectory, 2u);
  const Extract& worst = extracts.rollouts[2];
  EXPECT_EQ(worst.truth, (std::vector<float>{32, 32, 32, 32, 32, 32, 32, 32}));
  EXPECT_EQ(worst.mean, (std::vector<float>{32, 32, 16, 16, 8, 8, 4, 4}));
  // sum over steps of e^2 is 16^2 + 24^2 + 28^2 at each of 2 points; L Nx = 6.
  EXPECT_DOUBLE_EQ(worst.rmse, std::sqrt(2.0 * (256 + 576 + 784) / 6.0));
  EXPECT_EQ(extracts.calibration.trajectories, 5u);
  EXPECT_EQ(still.committee.blocks_in_use(), 0u);
}

TEST(Extracts, KeepFewerTimesWhereTheyWouldBeTooLarge) {
  Still still({1, 2}, 9);
  const Metrics metrics = evaluate(still.committee, still.view());
  // A time takes 3 trajectories x (truth, mean) x 2 points x 8 bytes = 96 bytes of three quarters.
  const auto times_within = [&](std::size_t bytes) {
    return take_extracts(still.committee, still.view(), metrics, bytes).times;
  };

  EXPECT_EQ(times_within(96 * 3 / 3 * 4), (std::vector<std::size_t>{0, 4, 8}));
  EXPECT_EQ(times_within(96 / 3 * 4), (std::vector<std::size_t>{}));
  EXPECT_TRUE(take_extracts(still.committee, still.view(), metrics, 96 / 3 * 4).rollouts.empty());
}

TEST(Extracts, ADivergedTrajectoryIsTheWorst) {
  Still still({1, 3, 2});
  FunctionCommittee committee(still.states.grid(),
                              {[](float v, double) { return v == 1 ? INFINITY : v; }});
  const Metrics metrics = evaluate(committee, still.view());

  const Extracts extracts = take_extracts(committee, still.view(), metrics);

  EXPECT_EQ(extracts.rollouts[2].trajectory, 0u);
  EXPECT_TRUE(std::isinf(extracts.rollouts[2].rmse));
  EXPECT_EQ(extracts.calibration.trajectories, 0u);  // one member has no spread
}

TEST(Extracts, ClustersAreRolledOutAsTheyAre) {
  const Grid grid = make_grid(1, {2}, {1.0}), clusters = cluster_grid(grid, 2);
  const States<float> test = test::random_states(grid, 3 * 6, Rng(3));
  test::FakeCommittee committee(clusters, test::linear_members(2, clusters.values(), Rng(4)), 2);
  const TrajectoriesView view{test.view(), 6, 2};
  const Metrics metrics = evaluate(committee, view);

  const Extracts extracts = take_extracts(committee, view, metrics);

  for (const Extract& e : extracts.rollouts) {
    ASSERT_EQ(e.mean.size(), 6 * grid.values());
    const float* truth = test.row(e.trajectory * 6).data();
    EXPECT_EQ(e.truth, std::vector<float>(truth, truth + 12));
    std::vector<float> cluster(truth, truth + 4);
    for (std::size_t call = 0; call < 2; ++call) {
      cluster = committee.apply(kMean, cluster, static_cast<double>(call) / 2);
      EXPECT_EQ(std::vector<float>(e.mean.begin() + static_cast<long>(4 + 4 * call),
                                   e.mean.begin() + static_cast<long>(8 + 4 * call)),
                cluster);
    }
  }
  EXPECT_EQ(extracts.calibration.steps, 4u);
}

TEST(Extracts, ErrorsOfAnotherTestSetAreRefused) {
  Still still({1, 2}), other({1, 2, 3});

  EXPECT_THROW(
      take_extracts(still.committee, still.view(), evaluate(other.committee, other.view())), Error);
}

}  // namespace
}  // namespace stap
