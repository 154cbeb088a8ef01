// `stap choose-network`.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "support/contains.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

using Json = nlohmann::json;

class ChooseNetwork : public ::testing::Test {
 protected:
  static Finished run(const std::string& command, const std::vector<std::string>& more = {}) {
    std::istringstream words(command);
    std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
    all.insert(all.end(), more.begin(), more.end());
    return run_stap(all);
  }
  void small_run() const {
    const Finished done = run(
        "run demo pde.points=20 network.modes=[4] network.width=4 train.epochs=20 pool=12 test=2 "
        "study.initial=4 rounds=1 budget=6 study.steps=3 method=sbal+stap --device cpu --quiet "
        "--no-report --out " +
        run_);
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  static void expect_refused(const Finished& done, int exit_code, const std::string& part) {
    EXPECT_EQ(done.exit_code, exit_code) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_TRUE(contains(done.err, part)) << done.err;
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(run_))
      if (entry.is_regular_file()) all[entry.path()] = content(entry.path());
    return all;
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("run");
};

// What is a function of the data: all but what it costs here.
Json without_costs(const std::string& text) {
  Json json = Json::parse(text);
  json.erase("recommendation");
  for (Json& network : json["networks"]) {
    network.erase("training_bytes");
    network.erase("training_seconds");
    network.erase("step_seconds");
  }
  return json;
}

TEST_F(ChooseNetwork, RecommendsOneAndChangesNothing) {
  small_run();
  const auto before = files();
  const std::string common =
      "choose-network " + run_ + " train.epochs=3 --folds 2 --json --quiet --threads ";
  const std::vector<std::string> networks{"--network", "dilated(width=5, dilations=[1,2])",
                                          "--network", "dilated(width=3, blocks=1)"};

  const Finished one = run(common + "1", networks), two = run(common + "2", networks);

  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(without_costs(one.out), without_costs(two.out));
  EXPECT_EQ(files(), before);
  const Json json = Json::parse(one.out);
  EXPECT_EQ(json["judged_on"], "rollouts");
  ASSERT_EQ(json["networks"].size(), 3u);
  double last = 0;
  for (const Json& network : json["networks"]) {
    EXPECT_EQ(network["rollout_errors"].size(), 4u);  // 2 folds, twice
    EXPECT_GE(network["error"].get<double>(), last);
    EXPECT_GT(network["training_bytes"].get<double>(), 0);
    last = network["error"];
    if (network["network"] == "dilated(width=5, dilations=[1,2])") {
      EXPECT_EQ(network["settings"],
                (Json{"network.name=dilated", "network.width=5", "network.dilations=[1,2]"}));
    }
  }
  const Finished text = run("choose-network " + run_ + " train.epochs=1 --folds 2 --repeats 1");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "fno (this run's)"));
  EXPECT_TRUE(contains(text.out, "4 whole trajectories"));
  EXPECT_TRUE(contains(text.err, "for 4 trainings"));
}

TEST_F(ChooseNetwork, RefusesWhatItCannotCompare) {
  small_run();
  const auto tried = [&](const std::string& more) { return run("choose-network " + run_ + more); };

  expect_refused(tried(" --network dilated(width=5"), 2, "a bracket is not closed");
  expect_refused(tried(" --network dilatd"), 2, "did you mean 'dilated'");
  expect_refused(tried(" --network dilated(dilations=[20])"), 2, "has 20 points");
  expect_refused(tried(" --network fno"), 2, "there is no other network");
  expect_refused(tried(" network.width=5"), 2, "networks are given with --network");
  expect_refused(tried(" pde.points=40"), 2, "only how networks are trained can be set here");
  expect_refused(tried(" --folds 12"), 2, "a candidate for each of 12 folds");
  expect_refused(run("choose-network demo"), 2, "demo is no folder of a run");
}

// Before anything is trained: what every network of a sweep takes. The weights of `dilated` are
// those of a lifting, seven convolutions of 3 taps and a projection, with their biases.
TEST_F(ChooseNetwork, CheckSaysWhatNetworksTake) {
  const Finished done =
      run("check demo --device cpu --json --grid seed=0,1",
          {"--grid", "network={name: fno, width: 4},{name: dilated, width: 4, blocks: 1}"});

  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Json networks = Json::parse(done.out)["plan"]["networks"];
  ASSERT_EQ(networks.size(), 2u);
  EXPECT_EQ(networks[0]["name"], "fno");
  EXPECT_EQ(networks[1]["name"], "dilated");
  EXPECT_EQ(networks[1]["weights"], (3 * 4 + 4) + 7 * (3 * 4 * 4 + 4) + (3 * 4 + 1));
  for (const Json& network : networks) {
    EXPECT_EQ(network["members"], 2);
    EXPECT_GT(network["training_bytes"].get<double>(), 0);
    EXPECT_GT(network["step_seconds"].get<double>(), 0);
  }
}

}  // namespace
}  // namespace stap::test
