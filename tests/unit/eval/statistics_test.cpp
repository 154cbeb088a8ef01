#include "stap/eval/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace stap {
namespace {

// Published table of Student's t (97.5 %), three decimals; 1 degree of freedom is the Cauchy
// distribution, tan(pi (p - 1/2)).
TEST(Statistics, StudentQuantiles) {
  EXPECT_NEAR(student_quantile(0.975, 1), std::tan(3.14159265358979 * 0.475), 1e-8);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(student_quantile(0.975, 9), 2.262, 5e-4);
  EXPECT_NEAR(student_quantile(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(student_quantile(0.95, 5), 2.015, 5e-4);
  EXPECT_NEAR(student_quantile(0.025, 2), -4.303, 5e-4);
}

TEST(Statistics, SummaryAndInterval) {
  const std::vector<double> values = {1, 2, 3};

  const Summary s = summarise(values);

  EXPECT_DOUBLE_EQ(s.mean, 2.0);
  EXPECT_DOUBLE_EQ(s.deviation, 1.0);
  EXPECT_NEAR(half_interval_95(s), 4.3027 / std::sqrt(3.0), 1e-4);
  EXPECT_TRUE(std::isnan(half_interval_95(summarise({values.data(), 1}))));
}

}  // namespace
}  // namespace stap
