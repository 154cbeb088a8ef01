// Studies with k-in, k-out networks as a user runs them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "stap/data/store.h"
#include "stap/nn/model_file.h"
#include "support/killing.h"
#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kPoints = 32, kSteps = 6, kInitial = 3, kBudget = 10, kCluster = 2;

class Multistep : public ::testing::Test {
 protected:
  Multistep() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~Multistep() override { unsetenv("STAP_CACHE"); }

  std::vector<std::string> words(const std::string& command, const std::string& out,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> list{command, "demo"};
    for (const std::string& setting : small_study()) list.push_back(setting);
    for (const char* setting : {"study.steps=6", "budget=10", "cluster=2", "train.epochs=6"})
      list.push_back(setting);
    list.insert(list.end(), more.begin(), more.end());
    if (command == "run") list.push_back("--no-report");
    list.insert(list.end(), {"--out", folder_.path(out)});
    return list;
  }
  std::vector<json> lines(const std::string& file) const {
    std::vector<json> all;
    std::istringstream in(content(folder_.path(file)));
    for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
    return all;
  }
  std::string essence(const std::string& run) const {
    return content(folder_.path(run + "/metrics.jsonl")) +
           content(folder_.path(run + "/transitions.h5")) +
           content(folder_.path(run + "/rounds/02/committee.safetensors"));
  }

  TemporaryFolder folder_;
};

TEST_F(Multistep, StepsAndBudgetCountSingleSteps) {
  const Finished result = run_stap(words("run", "r"));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<json> metrics = lines("r/metrics.jsonl");
  ASSERT_EQ(metrics.size(), 3u);
  for (std::size_t round = 0; round < 3; ++round) {
    EXPECT_EQ(metrics[round].at("steps"), kSteps);
    EXPECT_EQ(metrics[round].at("rmse_by_step").size(), kSteps);
    EXPECT_EQ(metrics[round].at("transitions"), (kInitial * kSteps + kBudget * round) / kCluster);
  }
  std::size_t ledgers = 0;
  for (const json& line : lines("r/journal.jsonl")) {
    if (line.at("type") != "ledger") continue;
    const std::size_t budget = ledgers++ == 0 ? kInitial * kSteps : kBudget;
    EXPECT_EQ(line.at("body").at("budget"), budget);
    EXPECT_EQ(line.at("body").at("bought"), budget);
    EXPECT_EQ(line.at("body").at("unspent"), 0);
  }
  EXPECT_EQ(ledgers, 3u);
  const json plan = json::parse(content(folder_.path("r/rounds/00/plan.json")));
  EXPECT_EQ(plan.at("purchases")[0].at("pattern").get<std::string>().size(), kSteps / kCluster);
}

// 4 solver steps lead from a drawn state to the last state of an initial condition: 2 clusters.
TEST_F(Multistep, WarmUpsAreChargedToTheBudget) {
  const Finished result = run_stap(words("run", "r", {"charge_warm_up=true", "method=sbal"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::size_t ledgers = 0;
  for (const json& line : lines("r/journal.jsonl")) {
    if (line.at("type") != "ledger" || ledgers++ == 0) continue;
    EXPECT_EQ(line.at("body").at("budget"), kBudget);
    EXPECT_EQ(line.at("body").at("bought"), 6);
    EXPECT_EQ(line.at("body").at("warm_up"), 4);
    EXPECT_EQ(line.at("body").at("unspent"), 0);
  }
  EXPECT_EQ(ledgers, 3u);
  const std::vector<json> metrics = lines("r/metrics.jsonl");
  EXPECT_EQ(metrics.at(2).at("candidates"), kInitial + 2);
  EXPECT_EQ(metrics.at(2).at("warm_up_steps"), 4 * (kInitial + 2));
  EXPECT_EQ(run_stap({"fsck", folder_.path("r")}).exit_code, 0);

  const Finished small = run_stap(words("run", "s", {"charge_warm_up=true", "budget=4"}));
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_TRUE(contains(small.err, "pays for no step behind a warm-up of 4")) << small.err;
  const Finished none =
      run_stap(words("run", "s", {"charge_warm_up=true", "cluster=1", "initial.warm_up=0"}));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(contains(none.err, "no warm-up to charge")) << none.err;
}

// One mean and deviation per channel, over every single state of the initial trajectories: those
// of the inputs, and of the last output of each. Nested loops over the file itself.
TEST_F(Multistep, FramesShareTheScalingOfTheirChannel) {
  ASSERT_EQ(run_stap(words("run", "r", {"rounds=0"})).exit_code, 0);
  const std::string file = folder_.path("r/transitions.h5");
  const Array<double> inputs = read_array(file, "inputs"), outputs = read_array(file, "outputs");
  const Array<double> step = read_array(file, "step");
  ASSERT_EQ(inputs.shape, (std::vector<std::size_t>{9, kCluster, kPoints}));
  EXPECT_EQ(read_attribute(file, "/", "cluster").values.at(0), 2.0);
  std::vector<double> all;
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t v = 0; v < kCluster * kPoints; ++v) {
      all.push_back(inputs.values[i * kCluster * kPoints + v]);
      if (step.values[i] == 2) all.push_back(outputs.values[i * kCluster * kPoints + v]);
    }
  double mean = 0, square = 0;
  for (double value : all) mean += value / static_cast<double>(all.size());
  for (double value : all) square += (value - mean) * (value - mean);
  const double deviation = std::sqrt(square / static_cast<double>(all.size()));

  const Model model = read_model(folder_.path("r/rounds/00/committee.safetensors"));

  EXPECT_EQ(model.cluster, kCluster);
  EXPECT_EQ(model.spec.in_channels(), kCluster);
  for (const MemberState& member : model.members)
    for (std::size_t frame = 0; frame < kCluster; ++frame) {
      // They are floats: one rounding.
      EXPECT_NEAR(static_cast<double>(member.scaling.mean.at(frame)), mean, 1e-7 * deviation);
      EXPECT_NEAR(static_cast<double>(member.scaling.deviation.at(frame)), deviation,
                  1e-7 * deviation);
    }
}

TEST_F(Multistep, KilledAnywhereEndsWithTheSameBytes) {
  expect_kills_change_nothing(
      8, [&](const std::string& name) { return words("run", name, {"--quiet"}); },
      [&](const std::string& name) { return essence(name); });
}

// `evaluate` on the files of `generate` gives what the run itself has measured.
TEST_F(Multistep, EvaluateAndPredictKnowTheCluster) {
  ASSERT_EQ(run_stap(words("run", "r")).exit_code, 0);
  ASSERT_EQ(run_stap(words("generate", "g")).exit_code, 0);
  const std::string test = folder_.path("g/test.h5"), pool = folder_.path("g/pool.h5");
  const auto predict = [&](const std::string& input, const std::string& steps) {
    return run_stap({"predict", folder_.path("r"), "--input", input, "--steps", steps, "--output",
                     folder_.path("p.h5"), "--members"});
  };

  const Finished evaluated = run_stap({"evaluate", folder_.path("r"), "--test", test, "--json"});
  const Finished predicted = predict(test, "6");

  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const json ours = json::parse(evaluated.out), runs = lines("r/metrics.jsonl").back();
  for (const char* key : {"steps", "rmse", "nrmse", "mae", "rmse_q99", "rmse_by_step"})
    EXPECT_EQ(ours.at(key), runs.at(key)) << key;
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  // Errors of the predictions, from the two files: single steps in their order.
  const Array<double> truth = read_array(test, "trajectory");
  const Array<double> members = read_array(folder_.path("p.h5"), "members");
  ASSERT_EQ(members.shape, (std::vector<std::size_t>{2, 8, kCluster + kSteps, 1, kPoints}));
  const std::size_t row = (kCluster + kSteps) * kPoints;
  double rmse = 0;
  for (std::size_t m = 0; m < 2; ++m)
    for (std::size_t b = 0; b < 8; ++b) {
      double sum = 0;
      for (std::size_t v = 0; v < row; ++v) {
        const double e = members.values[(m * 8 + b) * row + v] - truth.values[b * row + v];
        sum += e * e;
      }
      rmse += std::sqrt(sum / static_cast<double>(kSteps * kPoints)) / 16;
    }
  // The truth is rounded to float by `evaluate`, which moves an error by 1e-7 of the states.
  EXPECT_NEAR(rmse, runs.at("rmse").get<double>(), 1e-6);
  EXPECT_EQ(predict(pool, "4").exit_code, 0);
  const Finished odd = predict(test, "5");
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_TRUE(contains(odd.err, "choose 4 or 6"));
}

TEST_F(Multistep, OneMemberAndTimeInputWork) {
  const Finished one = run_stap(words("run", "one", {"members=1", "method=random+bernoulli"}));
  const Finished timed = run_stap(words("run", "timed", {"network.time_input=true"}));

  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(timed.exit_code, 0) << timed.err;
  EXPECT_EQ(read_model(folder_.path("timed/rounds/02/committee.safetensors")).spec.in_channels(),
            kCluster + 1);
}

TEST_F(Multistep, WhatDoesNotFitIsExitCode2) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const Finished run = run_stap(words("run", "bad", more));
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_TRUE(contains(run.err, part));
    EXPECT_FALSE(fs::exists(folder_.path("bad")));
  };

  refused({"cluster=4"}, "choose 4 or 8");
  refused({"budget=9"}, "choose 8 or 10");
  refused({"cluster=6", "budget=12"}, "warm-up");
  const Finished check = run_stap({"check", "demo", "cluster=5"});
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_TRUE(contains(check.err, "study.steps is 8"));
  const Finished generate = run_stap(words("generate", "bad", {"cluster=4"}));
  EXPECT_EQ(generate.exit_code, 2) << generate.err;
}

}  // namespace
}  // namespace stap::test
