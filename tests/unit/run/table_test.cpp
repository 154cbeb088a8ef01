#include "stap/run/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stap/core/error.h"

namespace stap {
namespace {

RunResult result(const std::string& method, std::uint64_t seed, std::vector<double> log_rmse,
                 std::size_t rounds = 1) {
  RunResult r;
  r.config = config::parse_yaml("study: {budget: 8}", "test");
  r.method = method;
  r.seed = seed;
  r.rounds = rounds;
  r.steps = 13;
  r.points = 256;
  r.log_rmse = std::move(log_rmse);
  return r;
}

TEST(Table, MeansAndPairedDifferences) {
  const std::vector<RunResult> results = {
      result("random", 0, {-1, -3}), result("random", 1, {-2, -4}), result("sbal", 1, {-3, -5}),
      result("sbal", 0, {-1, -4}),   result("sbal", 7, {-9, -9}),
  };

  const auto rows = make_table(results);

  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[0].log_rmse.mean, -2.5);
  EXPECT_DOUBLE_EQ(rows[0].log_rmse.deviation, std::sqrt(0.5));
  EXPECT_NEAR(rows[0].log_rmse_published.mean, -2.5 + 1.570, 5e-4);
  EXPECT_EQ(rows[1].difference.count, 2u);  // seed 7 has no partner
  EXPECT_DOUBLE_EQ(rows[1].difference.mean, (-0.5 - 1.0) / 2);
  EXPECT_NEAR(rows[1].difference_95, 12.7062 * std::sqrt(0.125) / std::sqrt(2.0), 1e-3);
  EXPECT_NEAR(rows[0].rmse_by_round[1], std::exp(-3.5), 1e-12);
  EXPECT_DOUBLE_EQ(make_table(results, "sbal")[1].difference.mean, 0.75);
  EXPECT_THROW(make_table(results, "qbc"), Error);
}

TEST(Table, UnfinishedRunsAreLeftOutAndCounted) {
  const auto rows = make_table({result("random", 0, {-1, -3}), result("random", 1, {-2})});

  EXPECT_EQ(rows[0].incomplete, 1u);
  EXPECT_EQ(rows[0].seeds.size(), 1u);
  EXPECT_NE(table_text(rows).find("not finished"), std::string::npos);
}

TEST(Table, DivergenceIsShown) {
  RunResult diverged = result("random", 0, {-1, std::numeric_limits<double>::infinity()});
  diverged.diverged = 3;

  const auto rows = make_table({diverged});
  const std::string text = table_text(rows);

  EXPECT_NE(text.find("div(3)"), std::string::npos) << text;
  EXPECT_TRUE(table_value(rows).find("rows")->list()->at(0).find("log_rmse_mean") != nullptr);
  EXPECT_NE(config::json_text(table_value(rows), 0).find("\"log_rmse_mean\":null"),
            std::string::npos);
}

TEST(Table, OtherSettingsThatDifferStandInTheLabel) {
  RunResult more = result("random", 0, {-1, -3});
  more.config = config::parse_yaml("study: {budget: 16}", "test");

  const auto rows = make_table({result("random", 0, {-1, -3}), more});

  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].label, "random study.budget=16");
}

}  // namespace
}  // namespace stap
