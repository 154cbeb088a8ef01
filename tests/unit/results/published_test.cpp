#include "stap/results/published.h"

#include <gtest/gtest.h>

namespace stap {
namespace {

// Numbers of the paper's tables, read off by eye.
TEST(Published, AreThoseOfThePaper) {
  struct Row {
    const char *problem, *method, *metric;
    double mean, deviation;
  };
  const Row rows[] = {
      {"burgers", "random", "rmse", -2.881, 0.060},
      {"ins", "sbal", "rmse", -0.461, 0.012},  // two tables misprint it; the main one comes first
      {"kdv", "lcmd+stap", "rmse_q95", 1.128, 0.034},
      {"cns", "qbc", "mae", -0.476, 0.018},
      {"ks", "sbal+bernoulli(p=0.0625)", "nrmse", -1.790, 0.008},
      {"burgers", "sbal+bernoulli", "rmse", -3.152, 0.267},  // p = 1/8 is the default
      {"ins", "sbal+initial-bernoulli(p=0.5)", "rmse", -0.397, 0.008},
      {"kdv", "sbal+stap(proposals=10)", "rmse", -0.118, 0.024},
      {"cns", "sbal+stap-mf", "rmse", 2.360, 0.005},
      {"ks l/2", "sbal+stap", "rmse", 1.288, 0.011},
      {"burgers 8l/8", "random", "rmse", -1.670, 0.098},
  };
  for (const Row& row : rows) {
    const Published* value = find_published(row.problem, row.method, row.metric);

    ASSERT_NE(value, nullptr) << row.problem << ' ' << row.method;
    EXPECT_DOUBLE_EQ(value->mean, row.mean) << row.problem << ' ' << row.method;
    EXPECT_DOUBLE_EQ(value->deviation, row.deviation) << row.problem << ' ' << row.method;
  }
  EXPECT_EQ(published_values().size(), 453u);  // lines of the file without its head
}

TEST(Published, OtherSettingsOfAMethodHaveNone) {
  EXPECT_EQ(find_published("burgers", "sbal(exponent=2)", "rmse"), nullptr);
  EXPECT_EQ(find_published("burgers", "sbal+stap(proposals=20)", "rmse"), nullptr);
  EXPECT_EQ(find_published("ins", "core-set", "rmse"), nullptr);
  EXPECT_EQ(find_published("", "sbal", "rmse"), nullptr);
}

TEST(Published, RowsKnownToBeWrongSaySo) {
  auto doubt = [](const char* problem, const char* method) {
    return published_doubt(*find_published(problem, method, "rmse"));
  };

  EXPECT_NE(doubt("burgers", "lcmd+stap").find("LCMD"), std::string::npos);
  EXPECT_NE(doubt("cns", "qbc").find("channels"), std::string::npos);
  EXPECT_NE(doubt("cns", "sbal+stap").find("channels"), std::string::npos);
  EXPECT_NE(doubt("ins", "sbal").find("misprint"), std::string::npos);
  EXPECT_EQ(doubt("cns", "random"), "");
  EXPECT_EQ(doubt("burgers", "sbal"), "");
}

}  // namespace
}  // namespace stap
