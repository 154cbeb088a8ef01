#include "stap/study/clusters.h"

#include <gtest/gtest.h>

#include <functional>

#include "stap/core/error.h"
#include "stap/study/presets.h"
#include "support/contains.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::contains;

TEST(WarmUpBefore, MayBeJustLongEnough) {
  EXPECT_DOUBLE_EQ(warm_up_before(cluster_start(2, 0.5), 0.75), 0.25);
  EXPECT_EQ(warm_up_before(cluster_start(4, 0.1), 0.3), 0.0);  // 3 x 0.1 is a little more than 0.3
  EXPECT_EQ(warm_up_before(cluster_start(1, 0.1), 0.0), 0.0);
  EXPECT_TRUE(contains(test::config_complaint([] { warm_up_before(cluster_start(4, 0.1), 0.29); }),
                       "0.29"));
}

// The demo has 8 steps, a budget of 24, dt 2/13 and a warm-up of 0.6.
TEST(ClusterStudy, WhatDoesNotFitIsSaid) {
  const auto demo = [](const std::vector<std::string>& settings) {
    return test::config_complaint([&] {
      config::Value document = load_config("demo");
      for (const std::string& setting : settings) apply_setting(document, setting);
      make_study(document);
    });
  };

  EXPECT_EQ(demo({"cluster=2"}), "");
  EXPECT_EQ(demo({"cluster=4"}), "");
  EXPECT_TRUE(contains(demo({"cluster=3"}), "study.steps is 8, but networks make 3 steps at once"));
  EXPECT_TRUE(contains(demo({"cluster=3"}), "choose 6 or 9, or a cluster that divides 8"));
  EXPECT_TRUE(contains(demo({"cluster=2", "budget=23"}), "study.budget is 23"));
  EXPECT_TRUE(contains(demo({"cluster=2", "budget=23"}), "choose 22 or 24"));
  EXPECT_TRUE(contains(demo({"cluster=4", "budget=3"}), "choose 4"));
  EXPECT_TRUE(contains(demo({"cluster=8"}), "study.cluster is 8: the warm-up is 0.6"));
  EXPECT_TRUE(contains(demo({"cluster=0"}), "study.cluster is 0"));
  EXPECT_TRUE(contains(demo({"cluster=2", "method=sbal+exact", "study.steps=34", "budget=34"}),
                       "study.steps is 34, 17 clusters of 2, but sbal+exact"));
  EXPECT_EQ(demo({"cluster=2", "method=sbal+exact", "study.steps=32"}), "");
}

}  // namespace
}  // namespace stap
