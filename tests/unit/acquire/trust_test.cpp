#include "stap/acquire/trust.h"

#include <gtest/gtest.h>

#include <limits>

#include "stap/core/error.h"
#include "support/fake_committee.h"

namespace stap {
namespace {

using test::FakeCommittee;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// u -> u, u -> (1 + time) u and u -> -u on two values.
FakeCommittee three_members() {
  const auto times = [](float factor, float drift) {
    return [=](const std::vector<float>& u, double time) {
      const float f = factor + drift * static_cast<float>(time);
      return std::vector<float>{f * u[0], f * u[1]};
    };
  };
  return FakeCommittee(make_grid(1, {2}, {1.0}), {times(1, 0), times(1, 1), times(-1, 0)}, 10);
}

States<float> inputs_1_to(const Grid& grid, std::size_t n) {
  States<float> inputs(grid, n);
  for (std::size_t r = 0; r < n; ++r) {
    inputs.row(r)[0] = static_cast<float>(r + 1);
    inputs.row(r)[1] = 2.0f;
  }
  return inputs;
}

TEST(OneStepSpreads, ByHand) {
  FakeCommittee committee = three_members();
  const States<float> inputs = inputs_1_to(committee.grid(), 2);
  const std::vector<std::uint32_t> steps{0, 5};

  const auto spreads = one_step_spreads(committee, inputs.view(), {steps});

  // Factors 1, 1, -1 have variance 8/9; 1, 1.5, -1 have mean 1/2 and variance 7/6. |u|^2 is 5, 8.
  ASSERT_EQ(spreads.size(), 2u);
  EXPECT_NEAR(spreads[0], 5 * 8.0 / 9.0, 1e-12);  // a few roundings of doubles near 1
  EXPECT_NEAR(spreads[1], 8 * 7.0 / 6.0, 1e-12);
  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

TEST(OneStepSpreads, DoNotDependOnTheBlock) {
  FakeCommittee committee = three_members();
  const States<float> inputs = inputs_1_to(committee.grid(), 5);
  const std::vector<std::uint32_t> steps{0, 2, 4, 6, 8};
  const auto whole = one_step_spreads(committee, inputs.view(), {steps});

  for (const std::size_t block : {0, 1, 2, 4, 5, 6})
    EXPECT_EQ(one_step_spreads(committee, inputs.view(), {steps}, block), whole) << block;

  EXPECT_TRUE(one_step_spreads(committee, inputs.view().rows(0, 0), {}).empty());
}

TEST(OneStepSpreads, OneMemberHasNone) {
  FakeCommittee committee(make_grid(1, {2}, {1.0}),
                          {[](const std::vector<float>& u, double) { return u; }});
  const States<float> inputs = inputs_1_to(committee.grid(), 1);

  EXPECT_THROW(one_step_spreads(committee, inputs.view(), {}), Error);
}

TEST(TrustLimit, IsTheSmallestThatAShareDoesNotPass) {
  const std::vector<double> spreads{5, 1, 4, 2, 3};

  EXPECT_EQ(trust_limit(spreads, 1.0), 5.0);
  EXPECT_EQ(trust_limit(spreads, 0.81), 5.0);
  EXPECT_EQ(trust_limit(spreads, 0.8), 4.0);  // four of five do not pass 4
  EXPECT_EQ(trust_limit(spreads, 0.5), 3.0);
  EXPECT_EQ(trust_limit(spreads, 0.2), 1.0);
  EXPECT_EQ(trust_limit(spreads, 1e-9), 1.0);
  EXPECT_EQ(trust_limit({7}, 0.5), 7.0);
  EXPECT_THROW(trust_limit({}, 0.5), Error);
}

TEST(TrustLimit, WhatIsNotANumberIsLargest) {
  EXPECT_EQ(trust_limit({kNan, 1, kInfinite, 2}, 0.5), 2.0);
  EXPECT_EQ(trust_limit({kNan, 1, kInfinite, 2}, 0.75), kInfinite);
  EXPECT_EQ(trust_limit({kNan, 1}, 1.0), kInfinite);
}

}  // namespace
}  // namespace stap
