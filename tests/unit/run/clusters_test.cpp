#include "run/clusters.h"

#include <gtest/gtest.h>

namespace stap {
namespace {

TEST(ClusterLedger, CountsSolverSteps) {
  const Ledger ledger = in_solver_steps({.budget = 9,
                                         .bought = 5,
                                         .refused = 1,
                                         .failed = 1,
                                         .charged_failures = 1,
                                         .unspent = 3,
                                         .reasons = {"a", "b"}},
                                        4);

  EXPECT_EQ(ledger.budget, 36u);
  EXPECT_EQ(ledger.bought, 20u);
  EXPECT_EQ(ledger.refused, 1u);  // queries
  EXPECT_EQ(ledger.failed, 1u);
  EXPECT_EQ(ledger.charged_failures, 4u);
  EXPECT_EQ(ledger.unspent, 12u);
  EXPECT_EQ(ledger.bought + ledger.charged_failures + ledger.unspent, ledger.budget);
}

}  // namespace
}  // namespace stap
