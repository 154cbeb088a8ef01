#include "acquire/residual.h"

#include <gtest/gtest.h>

#include "stap/acquire/methods.h"
#include "stap/core/error.h"
#include "support/acquiring.h"

namespace stap {
namespace {

// Two values and one step of u -> u/2 by hand, dt = 1/2, du/dt = -u:
// 2 -> 1 leaves (1 - 2)/dt - (-1 - 2)/2 = -1/2, 4 -> 2 leaves -1; their squares are 1/4 and 1.
TEST(Residual, OfOneStepByHand) {
  const std::vector<double> before = {2, 4}, after = {1, 2}, f_before = {-2, -4},
                            f_after = {-1, -2};

  EXPECT_EQ(step_residual2({before, f_before}, {after, f_after}, 0.5), 1.25);
}

// The same as a rollout of three steps: each halves the residual. The second member stands still
// and leaves u itself, 4 + 16 in every step.
TEST(Residual, OfARolloutByHand) {
  const Grid grid = make_grid(1, {2}, {1.0});
  test::World world;
  world.pool = States<float>(grid, 1);
  world.pool.row(0)[0] = 2;
  world.pool.row(0)[1] = 4;
  world.open = {0};
  world.steps = 3;
  const test::FakeCommittee::Member halving = [](const std::vector<float>& u, double) {
    return std::vector<float>{u[0] / 2, u[1] / 2};
  };
  const test::FakeCommittee::Member standing = [](const std::vector<float>& u, double) {
    return u;
  };
  const auto rhs = test::decay(grid, 0.5);
  const auto score = [&](std::vector<test::FakeCommittee::Member> members) {
    test::FakeCommittee committee(grid, std::move(members));
    return residual_scores(committee, world.candidates(), world.open, *rhs);
  };

  EXPECT_EQ(score({halving}), std::vector<double>{1.25 * (1 + 0.25 + 0.0625)});
  EXPECT_EQ(score({standing}), std::vector<double>{60.0});
  EXPECT_EQ(score({halving, standing}), std::vector<double>{(1.640625 + 60.0) / 2});
}

TEST(Residual, NeedsARightHandSide) {
  EXPECT_THROW(make_residual(nullptr), Error);
}

}  // namespace
}  // namespace stap
