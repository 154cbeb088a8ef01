// Sweeps over several problems and study files, and `stap table` in all its formats, as a user runs
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string last_line(const std::string& path) {
  std::istringstream lines(content(path));
  std::string last;
  for (std::string line; std::getline(lines, line);) last = line;
  return last;
}

class TableProgram : public ::testing::Test {
 protected:
  TableProgram() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~TableProgram() override { unsetenv("STAP_CACHE"); }

  // Two problems, two methods, two seeds: from a study of a user's own, made small by settings.
  Finished sweep_two(const std::string& out, const std::vector<std::string>& more = {}) {
    folder_.file("mine.yaml",
                 "sweep:\n"
                 "  extends: [paper/burgers, paper/ks]\n"
                 "  method: [random, sbal]\n"
                 "  seed: [0, 1, 2]\n");
    std::vector<std::string> words{"sweep", folder_.path("mine.yaml")};
    for (const std::string& setting : small_study()) words.push_back(setting);
    words.insert(words.end(), {"train.epochs=3", "--grid", "seed=0,1", "--out", folder_.path(out)});
    words.insert(words.end(), more.begin(), more.end());
    return run_stap(words);
  }

  TemporaryFolder folder_;
};

TEST_F(TableProgram, AStudyOfTwoProblemsInAllFormats) {
  const Finished sweep = sweep_two("s");
  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  const std::string s = folder_.path("s");

  const Finished text = run_stap({"table", s, "--paper"});
  const Finished full = run_stap({"table", s, "--metric", "all"});
  const Finished mean = run_stap({"table", s, "--model", "mean"});
  const Finished latex = run_stap({"table", s, "--latex", "--metric", "nrmse"});
  const Finished csv = run_stap({"table", s, "--csv=summary"});
  const Finished rounds = run_stap({"table", s, "--csv"});
  const Finished in_json = run_stap({"table", s, "--json", "--baseline", "sbal"});

  EXPECT_TRUE(contains(sweep.out, "\nks: 5 steps, 32 points"));
  EXPECT_TRUE(contains(text.out, "-3.388 ± 0.052"));
  EXPECT_TRUE(contains(text.out, "-0.275 ± 0.014"));
  EXPECT_TRUE(contains(full.out, "RMSE 99 %"));
  EXPECT_EQ(run_stap({"table", s, "--csv", "--paper"}).exit_code, 2);
  // A run with its sweep counts once; two runs by themselves are two.
  const std::string one = s + "/extends=paper_ks,method=sbal,seed=0";
  const std::string two = s + "/extends=paper_ks,method=random,seed=0";
  EXPECT_EQ(run_stap({"table", s, one, "--paper"}).out, text.out);
  const Finished both = run_stap({"table", two, one, "--csv"});
  EXPECT_EQ(std::count(both.out.begin(), both.out.end(), '\n'), 1 + 2 * 3) << both.err;
  EXPECT_TRUE(contains(latex.out, " & burgers & ks \\\\"));
  std::istringstream lines(csv.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 12) << line;
  EXPECT_EQ(count, 1u + 2 * 2 * 10);
  EXPECT_EQ(std::count(rounds.out.begin(), rounds.out.end(), '\n'), 1 + 2 * 2 * 2 * 3);
  const json last =
      json::parse(last_line(folder_.path("s/extends=paper_ks,method=sbal,seed=1/metrics.jsonl")));
  // 3 initial trajectories of 5 steps and 2 rounds of 9.
  EXPECT_TRUE(contains(rounds.out, "\nks,sbal,sbal,1,2,33,33," + last.at("candidates").dump() +
                                       "," + last.at("warm_up_steps").dump() + "," +
                                       last.at("rmse").dump() + ","));
  EXPECT_TRUE(contains(rounds.out, "," + last.at("mean_model").at("mae").dump() + ","));
  const json rows = json::parse(in_json.out).at("rows");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[2].at("problem"), "ks");
  EXPECT_EQ(rows[2].at("label"), "sbal");
  // Computed here from the runs themselves.
  for (const auto& [key, name] : {std::pair{"rmse_q95", "q95"}, std::pair{"mae", "mae"}}) {
    double members = 0, mean_model = 0;
    for (const char* seed : {"0", "1"}) {
      std::istringstream metrics(content(folder_.path(
          std::string("s/extends=paper_ks,method=sbal,seed=") + seed + "/metrics.jsonl")));
      for (std::string line; std::getline(metrics, line);) {
        members += std::log(json::parse(line).at(key).get<double>()) / 6;
        mean_model += std::log(json::parse(line).at("mean_model").at(key).get<double>()) / 6;
      }
    }
    const json& row = rows[2];
    EXPECT_NEAR(row["metrics"][name]["log_mean"].get<double>(), members, 1e-12) << name;
    EXPECT_NEAR(row["mean_model"]["metrics"][name]["log_mean"].get<double>(), mean_model, 1e-12)
        << name;
    EXPECT_NE(members, mean_model);
  }
  EXPECT_TRUE(contains(text.out, "; errors of the members\n"));
  EXPECT_TRUE(contains(mean.out, "; errors of the averaged model\n"));
}

TEST_F(TableProgram, InterruptedSweepsOfSeveralProblemsContinue) {
  ASSERT_EQ(sweep_two("whole").exit_code, 0);

  const Finished stopped = sweep_two("s", {"--stop-after", "0.001s"});
  const Finished finished = sweep_two("s");

  EXPECT_TRUE(contains(stopped.err, "run the same command again"));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  for (const auto& run : fs::directory_iterator(folder_.path("whole"))) {
    if (!run.is_directory()) continue;
    const std::string name = run.path().filename().string();
    EXPECT_EQ(content(folder_.path("s/" + name + "/metrics.jsonl")),
              content(folder_.path("whole/" + name + "/metrics.jsonl")))
        << name;
  }
}

// Runs that differ in later rounds only share the training of round 0, and it does not show: the
// bytes are those of a run alone. That they shared it shows in what one of them did not time.
TEST_F(TableProgram, SharedFirstRoundsGiveTheBytesOfRunsAlone) {
  const std::string small =
      "extends: demo\n"
      "pde: {points: 32}\n"
      "network: {modes: [8], width: 8, lifting: 16, projection: 16}\n"
      "train: {epochs: 12}\n";
  const std::string sizes = "study: {steps: 5, pool: 40, initial: 3, ";
  const std::string a = folder_.file(
      "a.yaml", small + sizes +
                    "rounds: 1, budget: 9, test: 8, checkpoint_epochs: 2, keep_committees: last}\n"
                    "method: random\n");
  const std::string b = folder_.file(
      "b.yaml", small + sizes +
                    "rounds: 2, budget: 6, test: 5, checkpoint_epochs: 5, keep_committees: all}\n"
                    "method: sbal+stap\n");
  const Finished sweep = run_stap(
      {"sweep", "--grid", "extends=" + a + "," + b, "--out", folder_.path("s"), "--quiet"});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  ASSERT_EQ(run_stap({"run", b, "--out", folder_.path("alone")}).exit_code, 0);

  std::vector<std::string> runs;
  for (const auto& entry : fs::directory_iterator(folder_.path("s")))
    if (entry.is_directory()) runs.push_back(entry.path().string());
  std::ranges::sort(runs);
  ASSERT_EQ(runs.size(), 2u);
  auto trained_first_round = [](const std::string& run) {
    return contains(content(run + "/timings.jsonl"), "\"round\":0,\"phase\":\"train\"");
  };

  for (const char* file :
       {"metrics.jsonl", "rounds/00/committee.safetensors", "rounds/02/committee.safetensors"}) {
    const std::string alone = content(folder_.path(std::string("alone/") + file));
    EXPECT_NE(alone, "") << file;
    EXPECT_TRUE(alone == content(runs[1] + "/" + file)) << file;
  }
  EXPECT_TRUE(trained_first_round(runs[0]));
  EXPECT_FALSE(trained_first_round(runs[1]));
  EXPECT_TRUE(trained_first_round(folder_.path("alone")));
}

TEST_F(TableProgram, StudiesAreKnownEverywhere) {
  const Finished list = run_stap({"list"});
  const Finished check = run_stap({"check", "studies/main", "rounds=3"});
  const Finished in_json = run_stap({"check", "studies/small-ks", "--json", "--quiet"});
  const Finished describe = run_stap({"describe", "studies/efficient"});

  EXPECT_TRUE(contains(list.out, "studies/small-ins"));
  EXPECT_TRUE(contains(check.out, "# a sweep of 125 runs"));
  EXPECT_TRUE(contains(check.out, "rounds: 3"));
  EXPECT_EQ(json::parse(in_json.out).at("runs").size(), 55u);
  EXPECT_TRUE(contains(describe.out, "stap(proposals=10)"));
  EXPECT_TRUE(json::parse(run_stap({"schema"}).out).at("properties").contains("sweep"));
}

TEST_F(TableProgram, MistakesAreExitCode2) {
  auto refused = [&](const std::vector<std::string>& command, const std::string& part) {
    const Finished result = run_stap(command);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
    EXPECT_FALSE(fs::exists(folder_.path("x")));
  };
  const std::string x = folder_.path("x");
  const std::string bad =
      folder_.file("bad.yaml", "extends: demo\nsweep: {seed: [0, 1], budget: [8, 0]}\n");

  refused({"run", "studies/small-ks", "--out", x}, "stap sweep studies/small-ks");
  refused({"generate", "studies/small-ks", "--out", x}, "is a sweep");
  refused({"sweep", "demo", "--out", x}, "needs an axis");
  refused({"sweep", "paper/ks", "--grid", "extends=paper/ks", "--out", x}, "would hide theirs");
  refused({"sweep", "--grid", "extends=paper/kz", "--out", x}, "did you mean 'paper/ks'?");
  refused({"sweep", "seed=1", "--grid", "method=random", "--out", x}, "pde");
  refused({"sweep", bad, "--out", x}, "study.budget");
  refused({"sweep", "demo", "--grid", "seed=0..100000", "--out", x}, "more than 100000 values");
  refused({"run", "demo", "steps=3", "--out", x}, "for the number write study.steps=3");
  refused({"check", bad}, "budget=0: study.budget is 0");
  refused({"table", folder_.path("s"), "--metric", "rmsd"}, "--metric");
  refused({"table", folder_.path("s"), "--csv", "--json"}, "excludes");
  refused({"table", folder_.path("s"), "--model", "best"}, "--model");
  refused({"table", folder_.path("s"), "--csv=lines"}, "--csv");
}

}  // namespace
}  // namespace stap::test
