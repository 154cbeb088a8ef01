#include "core/single_precision.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stap {
namespace {

// Two states of two points; of channel a, then b.
std::string problem(std::vector<double> a, std::vector<double> b) {
  const std::vector<double> states = {a[0], a[1], b[0], b[1], a[2], a[3], b[2], b[3]};
  const std::vector<std::string> names{"a", "b"};
  return single_precision_problem(states, 2, names);
}

// Single precision goes from about 1e-38 to 3e38. Mutation: a limit on values where the deviation
// counts, or on the other channel.
TEST(SinglePrecision, HoldsWhatHasAUsualSize) {
  EXPECT_EQ(problem({1, 2, 3, 4}, {0, 0, 0, 0}), "");
  EXPECT_EQ(problem({1e-12, 2e-12, 0, 1e-12}, {1e12, 3e12, 2e12, 0}), "");
  // Not varying at all, or by the rounding of double, is no small size.
  EXPECT_EQ(problem({5, 5, 5, 5}, {0.1, 0.1 + 2e-17, 0.1, 0.1}), "");
  EXPECT_NE(problem({1, 2, 3, 4}, {1e31, 2, 3, 4}).find("channel b"), std::string::npos);
  EXPECT_NE(problem({1e-31, 3e-31, 0, 0}, {1, 2, 3, 4}).find("channel a"), std::string::npos);
  EXPECT_NE(problem({1e-40, 1e-40, 1e-40, 1e-40}, {1, 2, 3, 4}).find("channel a"),
            std::string::npos);
}

}  // namespace
}  // namespace stap
