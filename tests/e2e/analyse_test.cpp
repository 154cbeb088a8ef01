// `stap analyse` as a user runs it: what its files hold, held against the run's own files.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "stap/core/seal.h"
#include "stap/data/store.h"
#include "stap/folder/run_folder.h"
#include "stap/journal/journal.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Sizes = std::vector<std::size_t>;

constexpr std::size_t kSteps = 5, kRounds = 2, kTest = 8;  // of small_study()

json read_json(const fs::path& path) {
  return json::parse(content(path));
}

std::vector<json> read_lines(const fs::path& path) {
  std::istringstream text(content(path));
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

class AnalyseProgram : public ::testing::Test {
 protected:
  // One sweep for all tests, which is copied where a test changes it.
  static void SetUpTestSuite() {
    shared_ = new TemporaryFolder;
    setenv("STAP_CACHE", shared_->path("cache").c_str(), 1);
    std::vector<std::string> words{"sweep", "demo"};
    for (const std::string& setting : small_study()) words.push_back(setting);
    for (const char* word : {"--grid", "method=random,sbal+stap", "--grid", "seed=0,1", "--quiet",
                             "train.epochs=40"})  // with fewer, errors do not fall
      words.push_back(word);
    words.insert(words.end(), {"--no-report", "--out", shared_->path("s")});
    const Finished sweep = run_stap(words);
    ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  }
  static void TearDownTestSuite() {
    unsetenv("STAP_CACHE");
    delete shared_;
    shared_ = nullptr;
  }

  // A copy of the sweep for this test.
  fs::path sweep() const {
    fs::copy(shared_->path("s"), folder_.path("s"), fs::copy_options::recursive);
    return folder_.path("s");
  }
  fs::path one_run() const { return sweep() / "method=sbal+stap,seed=1"; }

  static TemporaryFolder* shared_;
  TemporaryFolder folder_;
};
TemporaryFolder* AnalyseProgram::shared_ = nullptr;

// Patterns count clusters, errors and calibration single steps.
TEST_F(AnalyseProgram, TakesRunsOfMultiStepNetworks) {
  const fs::path folder = folder_.path("two");
  std::vector<std::string> words{"run", "demo"};
  for (const std::string& setting : small_study()) words.push_back(setting);
  for (const char* word :
       {"study.steps=6", "budget=12", "cluster=2", "--quiet", "--no-report", "--out"})
    words.push_back(word);
  words.push_back(folder);
  const Finished run = run_stap(words);
  ASSERT_EQ(run.exit_code, 0) << run.err;

  const Finished result = run_stap({"analyse", folder, "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const fs::path arrays = folder / "analysis.h5";
  EXPECT_EQ(read_array(arrays, "chosen_frequency").shape, (Sizes{kRounds, 3}));
  EXPECT_EQ(read_array(arrays, "calibration_spread").shape, (Sizes{kTest, 6}));
}

TEST_F(AnalyseProgram, ChosenStepsAreThoseOfThePlans) {
  const fs::path folder = one_run();

  const Finished result = run_stap({"analyse", folder, "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json analysis = read_json(folder / "analysis.json");
  EXPECT_EQ(analysis.at("format"), "analysis/2");
  EXPECT_EQ(analysis.at("kind"), "run");
  EXPECT_EQ(analysis.at("method"), "sbal+stap");
  EXPECT_EQ(analysis.at("complete"), true);
  std::vector<double> patterns, candidates, rounds;
  std::vector<double> count(kSteps, 0.0);
  for (std::size_t round = 0; round < kRounds; ++round) {
    const json plan = read_json(folder / "rounds" / ("0" + std::to_string(round)) / "plan.json");
    std::vector<double> own(kSteps, 0.0);
    for (const json& purchase : plan.at("purchases")) {
      const std::string pattern = purchase.at("pattern");
      for (std::size_t i = 0; i < kSteps; ++i) {
        patterns.push_back(pattern[i] - '0');
        own[i] += pattern[i] - '0';
        count[i] += pattern[i] - '0';
      }
      candidates.push_back(purchase.at("candidate"));
      rounds.push_back(static_cast<double>(round));
    }
    const json& row = analysis.at("chosen").at("rounds").at(round);
    EXPECT_EQ(row.at("trajectories"), plan.at("purchases").size());
    EXPECT_EQ(row.at("cost"), plan.at("cost"));
    for (std::size_t i = 0; i < kSteps; ++i)
      EXPECT_DOUBLE_EQ(row.at("frequency").at(i).get<double>(),
                       own[i] / static_cast<double>(plan.at("purchases").size()));
  }
  const fs::path arrays = folder / "analysis.h5";
  EXPECT_EQ(read_text_attribute(arrays, "/", "format"), "analysis/2");
  EXPECT_EQ(read_array(arrays, "chosen_pattern").values, patterns);
  EXPECT_EQ(read_array(arrays, "chosen_pattern").shape, (Sizes{candidates.size(), kSteps}));
  EXPECT_EQ(read_array(arrays, "chosen_candidate").values, candidates);
  EXPECT_EQ(read_array(arrays, "chosen_round").values, rounds);
  EXPECT_EQ(read_array(arrays, "chosen_frequency").shape, (Sizes{kRounds, kSteps}));
  for (std::size_t i = 0; i < kSteps; ++i)
    EXPECT_DOUBLE_EQ(analysis.at("chosen").at("frequency").at(i).get<double>(),
                     count[i] / static_cast<double>(candidates.size()));
}

// A round may have further passes; they follow in the order of their numbers, not of their names.
TEST_F(AnalyseProgram, FurtherPassesOfARoundFollow) {
  const fs::path folder = one_run();
  json plan = read_json(folder / "rounds/00/plan.json");
  const auto first = plan.at("purchases").size();
  plan.erase("crc");
  plan["cost"] = 1;
  for (int pass = 10; pass > 1; --pass) {
    plan["pass"] = pass;
    plan["purchases"] = json::array({{{"candidate", pass}, {"pattern", "00100"}}});
    std::ofstream(folder / "rounds/00" / ("plan-" + std::to_string(pass) + ".json"))
        << seal_json(plan.dump());
  }

  ASSERT_EQ(run_stap({"analyse", folder, "--quiet"}).exit_code, 0);

  const auto candidates = read_array(folder / "analysis.h5", "chosen_candidate").values;
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_EQ(candidates.at(first + i), 2.0 + static_cast<double>(i));
}

TEST_F(AnalyseProgram, ErrorsTimesCalibrationAndActivations) {
  const fs::path folder = one_run();

  ASSERT_EQ(run_stap({"analyse", folder, "--quiet"}).exit_code, 0);

  const json analysis = read_json(folder / "analysis.json");
  const fs::path arrays = folder / "analysis.h5";
  const auto metrics = read_lines(folder / "metrics.jsonl");
  for (std::size_t r = 0; r < metrics.size(); ++r) {
    EXPECT_EQ(analysis.at("errors").at("rmse").at(r), metrics[r].at("rmse"));
    EXPECT_EQ(analysis.at("errors").at("rmse_by_step").at(r), metrics[r].at("rmse_by_step"));
    EXPECT_EQ(analysis.at("errors").at("transitions").at(r), metrics[r].at("transitions"));
  }
  EXPECT_EQ(read_array(arrays, "errors_rmse_by_step").shape, (Sizes{kRounds + 1, kSteps}));

  double choose = 0;
  for (const json& line : read_lines(folder / "timings.jsonl"))
    if (line.at("phase") == "choose") choose += line.at("seconds").get<double>();
  EXPECT_DOUBLE_EQ(analysis.at("times").at("total").at("choose").get<double>(), choose);
  for (std::size_t r = 0; r < kRounds; ++r) {
    const json& times = analysis.at("times").at("rounds").at(r);
    // Parts of one interval of the same clock; the last digit may be lost in the sum.
    EXPECT_LE(times.at("score").get<double>() + times.at("choose").get<double>(),
              times.at("select").get<double>() + 1e-9);
  }

  // Here the root of the members' mean square, in the evaluation the mean of their roots: never
  // less, and at most sqrt(M) times as much.
  const auto spread = read_array(arrays, "calibration_spread");
  const auto mean = read_array(arrays, "calibration_mean_error").values;
  const auto members = read_array(arrays, "calibration_member_error").values;
  ASSERT_EQ(spread.shape, (Sizes{kTest, kSteps}));
  for (std::size_t i = 0; i < mean.size(); ++i)
    EXPECT_NEAR(members[i] * members[i], spread.values[i] * spread.values[i] + mean[i] * mean[i],
                1e-10 * members[i] * members[i]);
  for (std::size_t step = 0; step < kSteps; ++step) {
    double error = 0;
    for (std::size_t b = 0; b < kTest; ++b) error += members[b * kSteps + step] / kTest;
    const double evaluated = metrics.back().at("rmse_by_step").at(step);
    EXPECT_GE(error, evaluated * (1 - 1e-12));
    EXPECT_LE(error, evaluated * std::sqrt(2.0) * (1 + 1e-12));
  }
  EXPECT_EQ(analysis.at("calibration").at("bins").size(), 20u);
  EXPECT_EQ(analysis.at("calibration").at("rank_correlation").at("mean_error").at("by_step").size(),
            kSteps);

  const std::size_t bought = 3 * kSteps + 9 * kRounds;
  EXPECT_EQ(read_array(arrays, "activations_full").shape, (Sizes{kTest * kSteps, 8}));
  EXPECT_EQ(read_array(arrays, "activations_bought").shape, (Sizes{bought, 8}));
  EXPECT_EQ(read_array(arrays, "activations_directions").shape, (Sizes{8, 512}));
  EXPECT_EQ(read_array(arrays, "activations_bought_step").values,
            read_array(folder / "transitions.h5", "step").values);
  double explained = 0, last = 1;
  for (const json& share : analysis.at("activations").at("explained_variance")) {
    EXPECT_LE(share.get<double>(), last);
    last = share;
    explained += last;
  }
  EXPECT_GT(explained, 0.5);  // eight of at most 39 directions, the widest ones
  EXPECT_LE(explained, 1 + 1e-12);
}

TEST_F(AnalyseProgram, SweepGivesAVerdictPerMethodAndTheSameBytesAgain) {
  const fs::path folder = sweep();

  const Finished first = run_stap({"analyse", folder, "--quiet", "--threads", "1"});
  const auto files = [&] {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().filename().string().starts_with("analysis."))
        found.push_back(entry.path().string() + content(entry.path()));
    std::sort(found.begin(), found.end());
    return found;
  };
  const auto before = files();
  const Finished second = run_stap({"analyse", folder, "--quiet", "--threads", "2"});

  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(before.size(), 4u * 2 + 1);
  EXPECT_EQ(before, files());
  EXPECT_EQ(first.out, second.out);
  const json analysis = read_json(folder / "analysis.json");
  EXPECT_EQ(analysis.at("kind"), "sweep");
  EXPECT_EQ(analysis.at("runs").size(), 4u);
  const json& random = analysis.at("methods").at(0);
  EXPECT_TRUE(contains(random.at("cost").at("verdict"), "baseline itself"));
  const json& method = analysis.at("methods").at(1);
  EXPECT_EQ(method.at("label"), "sbal+stap");
  EXPECT_EQ(method.at("seeds"), (json{0, 1}));
  EXPECT_EQ(method.at("cost").at("baseline"), "random");
  EXPECT_EQ(method.at("cost").at("initial"), 15.0);
  EXPECT_EQ(method.at("cost").at("budget"), 9.0);
  EXPECT_EQ(method.at("cost").at("errors_of"), "mean_model");
  // The run that stands for each method keeps the same test trajectories. Mutation: its own worst.
  const auto shared = [&](const std::string& run) {
    return RunFolder(folder / run).read_extracts(kSharedExtracts);
  };
  const RunExtracts one = shared("method=random,seed=0"), other = shared("method=sbal+stap,seed=0");
  ASSERT_EQ(one.extracts.rollouts.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one.extracts.rollouts[i].trajectory, other.extracts.rollouts[i].trajectory);
    EXPECT_EQ(one.extracts.rollouts[i].truth, other.extracts.rollouts[i].truth);
    EXPECT_NE(one.extracts.rollouts[i].mean, other.extracts.rollouts[i].mean);
  }
  EXPECT_FALSE(fs::exists(folder / "method=random,seed=1" / kSharedExtracts));
  EXPECT_EQ(run_stap({"fsck", folder}).exit_code, 0);
  EXPECT_TRUE(contains(unwrapped(first.out), method.at("cost").at("verdict")));
  EXPECT_TRUE(contains(method.at("cost").at("verdict"), "active learning"));
}

TEST_F(AnalyseProgram, AnAnalysisOfAnotherRunOrFormatIsNotShown) {
  const fs::path folder = sweep(), run = folder / "method=sbal+stap,seed=1",
                 file = run / "analysis.json";
  ASSERT_EQ(run_stap({"analyse", folder, "--quiet"}).exit_code, 0);
  const std::vector<std::string> plot{"plot",        run,     "--figure",
                                      "calibration", "--out", folder / "c.svg"};
  ASSERT_EQ(run_stap(plot).exit_code, 0);
  std::string text = content(file);
  take_json_seal(text, "it");
  std::ofstream(file) << seal_json(text.replace(text.find("analysis/2"), 10, "analysis/9"));
  EXPECT_TRUE(contains(run_stap(plot).err, "is not of format analysis/2"));
  fs::copy_file(folder / "method=random,seed=1/analysis.json", file,
                fs::copy_options::overwrite_existing);
  const Finished other = run_stap(plot);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_TRUE(contains(other.err, "is the analysis of another run")) << other.err;
}

// Broken by: a seal that may be missing, which a change of its first bytes makes of it.
TEST_F(AnalyseProgram, AnAnalysisWithAnotherByteIsNotShown) {
  const fs::path run = one_run();
  ASSERT_EQ(run_stap({"analyse", run, "--quiet"}).exit_code, 0);
  const std::vector<std::string> plot{"plot",        run,     "--figure",
                                      "activations", "--out", run.string() + ".svg"};
  ASSERT_EQ(run_stap(plot).exit_code, 0);

  for (const char* name : {"analysis.json", "analysis.h5"}) {
    const std::string whole = content(run / name);
    for (const std::size_t at : {std::size_t{2}, whole.size() / 3, whole.size() / 2,
                                 whole.size() - 60, whole.size() - 2}) {
      std::string other = whole;
      other[at] = static_cast<char>(other[at] ^ 1);
      std::ofstream(run / name, std::ios::binary) << other;
      const Finished result = run_stap(plot);
      EXPECT_EQ(result.exit_code, 3) << name << " " << at;
      EXPECT_TRUE(contains(result.err, name)) << result.err;
    }
    std::ofstream(run / name, std::ios::binary) << whole;
  }
}

// The report's rule: with one seed nothing is significant.
TEST_F(AnalyseProgram, OneSeedIsAGuess) {
  const fs::path folder = sweep();
  for (const char* method : {"random", "sbal+stap"})
    fs::remove_all(folder / ("method=" + std::string(method) + ",seed=1"));

  const Finished result = run_stap({"analyse", folder, "--quiet"});

  const std::string guess =
      "its error is not significantly different from that of random with 1 seed";
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(unwrapped(result.out), "not certain, as " + guess)) << result.out;
  const json methods = read_json(folder / "analysis.json").at("methods");
  EXPECT_EQ(methods.at(1).at("cost").at("guess"), guess);
  EXPECT_EQ(methods.at(0).at("cost").at("guess"), nullptr);
}

// E by hand, with the steps bought and with the warm-ups of what was chosen: 4 learned steps each.
// Would fail if those of the initial trajectories were counted, or a seed's were left out.
TEST_F(AnalyseProgram, EfficiencyWithWarmUpsCounted) {
  const fs::path folder = sweep();
  ASSERT_EQ(run_stap({"analyse", folder, "--quiet"}).exit_code, 0);
  struct Curve {
    std::array<double, 3> bought{}, warm_ups{}, log_error{};
  };
  const auto curve = [&](const std::string& method) {
    Curve mean;
    for (const char* seed : {"0", "1"}) {
      std::istringstream lines(
          content(folder / ("method=" + method + ",seed=" + seed) / "metrics.jsonl"));
      std::string line;
      for (std::size_t k = 0; std::getline(lines, line); ++k) {
        const json metrics = json::parse(line);
        const double chosen = metrics.at("candidates").get<double>() - 3;
        mean.bought.at(k) += (metrics.at("transitions").get<double>() - 15) / 2;
        mean.warm_ups.at(k) += 4 * chosen / 2;
        mean.log_error.at(k) += std::log(metrics.at("mean_model").at("rmse").get<double>()) / 2;
      }
    }
    return mean;
  };
  const auto reached = [](const std::array<double, 3>& steps, const std::array<double, 3>& error,
                          double level) {
    for (std::size_t k = 1; k < 3; ++k)
      if (error[k] <= level)
        return steps[k - 1] +
               (steps[k] - steps[k - 1]) * (error[k - 1] - level) / (error[k - 1] - error[k]);
    return std::nan("");
  };
  const Curve random = curve("random"), stap = curve("sbal+stap");
  ASSERT_LT(stap.log_error[2], random.log_error[2]);
  const json cost = read_json(folder / "analysis.json").at("methods").at(1).at("cost");
  const auto with = [](const Curve& c) {
    std::array<double, 3> steps{};
    for (std::size_t k = 0; k < 3; ++k) steps[k] = c.bought[k] + c.warm_ups[k];
    return steps;
  };
  const double level = random.log_error[2];
  EXPECT_NEAR(cost.at("efficiency").get<double>(),
              random.bought[2] / reached(stap.bought, stap.log_error, level), 1e-9);
  EXPECT_NEAR(cost.at("efficiency_with_warm_ups").get<double>(),
              with(random)[2] / reached(with(stap), stap.log_error, level), 1e-9);
}

// The inequality with numbers given by hand: D = 15, B = 9, R = 2, E = 2, so n = 1: it saves 9
// solver steps, trains on 15 + 24 steps in place of 33, and selects once.
TEST_F(AnalyseProgram, OneRunTakesEfficiencyAndSolverSeconds) {
  const fs::path folder = one_run();

  const Finished plain = run_stap({"analyse", folder, "--quiet"});
  const Finished result = run_stap(
      {"analyse", folder, "--quiet", "--efficiency", "2", "--solver-seconds", "1000", "--json"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(unwrapped(plain.out), "needs runs of a baseline (random)"));
  const json cost = json::parse(result.out).at(0).at("cost");
  EXPECT_EQ(cost.at("pays"), true);
  EXPECT_EQ(cost.at("active_rounds"), 1.0);
  const double train = cost.at("train_seconds_per_step"),
               select = cost.at("select_seconds_per_round");
  EXPECT_GT(train, 0.0);
  EXPECT_NEAR(cost.at("turning_seconds_per_step").get<double>(), (6 * train + select) / 9,
              1e-9 * (train + select));
  EXPECT_NEAR(cost.at("baseline_seconds").get<double>(), 18 * 1000 + 33 * train, 1e-9);
  EXPECT_TRUE(contains(cost.at("verdict"), "active learning pays"));
  // The report's rule: at the break-even there is no difference.
  const Finished turning =
      run_stap({"analyse", folder, "--quiet", "--efficiency", "2", "--solver-seconds",
                cost.at("turning_seconds_per_step").dump(), "--json"});
  const json even = json::parse(turning.out).at(0).at("cost");
  EXPECT_EQ(cost.at("even"), false);
  EXPECT_EQ(even.at("even"), true);
  EXPECT_TRUE(
      contains(even.at("verdict"), "takes as long for this solver on this machine, within"));
}

// One member, and a sweep of which one run has only just begun and another has not finished.
TEST_F(AnalyseProgram, SaysWhatItDoesNotHave) {
  const fs::path folder = sweep();
  fs::remove(folder / "method=random,seed=1/metrics.jsonl");
  const fs::path metrics = folder / "method=random,seed=0/metrics.jsonl";
  const std::string text = content(metrics);
  std::ofstream(metrics) << text.substr(0, text.find('\n') + 1);
  std::vector<std::string> words{"run", "demo", "method=random", "members=1", "--quiet"};
  for (const std::string& setting : small_study()) words.push_back(setting);
  words.insert(words.end(), {"--no-report", "--out", folder_.path("alone")});
  ASSERT_EQ(run_stap(words).exit_code, 0);

  const Finished result = run_stap({"analyse", folder, folder_.path("alone"), "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json alone = read_json(folder_.path("alone/analysis.json"));
  EXPECT_TRUE(contains(alone.at("calibration").at("absent"), "one member"));
  EXPECT_FALSE(alone.at("calibration").contains("bins"));
  const auto names = list_datasets(folder_.path("alone/analysis.h5"));
  EXPECT_EQ(std::count(names.begin(), names.end(), "calibration_spread"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "activations_full"), 1);
  const json summary = read_json(folder / "analysis.json");
  EXPECT_EQ(summary.at("left_out"), json{"method=random,seed=1"});
  EXPECT_EQ(summary.at("methods").at(0).at("incomplete"), 1);
  // One evaluation of the baseline tells no efficiency.
  EXPECT_TRUE(contains(summary.at("methods").at(1).at("cost").at("verdict"),
                       "no verdict: the errors do not tell a data efficiency, as there is no "
                       "evaluation yet after something was bought;"));
  const json unfinished = read_json(folder / "method=random,seed=0/analysis.json");
  EXPECT_EQ(unfinished.at("evaluated"), 1);
  EXPECT_TRUE(contains(unfinished.at("note"), "not finished: 1 of 3 evaluations"));
  EXPECT_TRUE(contains(unwrapped(result.out), "method=random,seed=1 has no evaluation yet"));
}

// Looking at a run computes no data: what is not there must be made by a command, and what is there
// must be what the run was evaluated with.
TEST_F(AnalyseProgram, TheTestSetIsFoundAndNeverMade) {
  const fs::path folder = one_run();
  const std::string command = "'stap generate " + folder.string() + "' makes it";
  const auto with_cache = [&](const std::string& cache, const std::vector<std::string>& words) {
    const ScopedVariable variable("STAP_CACHE", cache);
    return run_stap(words);
  };
  fs::create_directory(folder_.path("empty"));
  const std::string cached =
      json::parse(run_stap({"evaluate", folder, "--json", "--quiet"}).out).at("test");

  for (const std::string& cache : {std::string("off"), folder_.path("empty")})
    for (const char* name : {"analyse", "evaluate"}) {
      const Finished result = with_cache(cache, {name, folder});
      EXPECT_EQ(result.exit_code, 3) << name;
      EXPECT_TRUE(contains(result.err, command)) << name;
    }
  EXPECT_EQ(with_cache("off", {"table", folder}).exit_code, 0);
  EXPECT_TRUE(fs::is_empty(folder_.path("empty")));
  EXPECT_FALSE(fs::exists(folder / "analysis.json"));

  // In the order in which it is written: the run is named after it.
  auto manifest = nlohmann::ordered_json::parse(content(folder / "manifest.json"));
  manifest.erase("crc");
  manifest["identity"]["test_file"] = "../test.h5";
  std::ofstream(folder / "manifest.json") << seal_json(manifest.dump());
  fs::copy(fs::path(cached), folder.parent_path() / "test.h5");
  const Finished named = with_cache("off", {"analyse", folder, "--quiet"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.err, "");

  std::vector<std::string> more{"generate", "demo", "data_seed=1", "--out", folder_.path("more")};
  for (const std::string& setting : small_study()) more.insert(more.begin() + 2, setting);
  ASSERT_EQ(run_stap(more).exit_code, 0);
  fs::copy(folder_.path("more/test.h5"), folder.parent_path() / "test.h5",
           fs::copy_options::overwrite_existing);
  for (const char* name : {"analyse", "evaluate"}) {
    const Finished other = run_stap({name, folder});
    EXPECT_EQ(other.exit_code, 3);
    EXPECT_TRUE(contains(other.err, "test.h5 has hash "));
    EXPECT_TRUE(contains(
        other.err, "was evaluated with " + manifest["identity"]["test_sha256"].get<std::string>()));
  }
}

// On its own test set a run has the errors of its last evaluation.
TEST_F(AnalyseProgram, EvaluateTakesTheTestSetOfTheRun) {
  const fs::path folder = one_run();

  const Finished result = run_stap({"evaluate", folder, "--json", "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json last = read_lines(folder / "metrics.jsonl").back(), now = json::parse(result.out);
  EXPECT_EQ(now.at("rmse"), last.at("rmse"));
  EXPECT_EQ(now.at("mean_model"), last.at("mean_model"));
  EXPECT_TRUE(contains(now.at("test"), shared_->path("cache")));
}

TEST_F(AnalyseProgram, WithoutATestSetTheRestIsAnalysed) {
  const fs::path folder = folder_.path("without");
  std::vector<std::string> words{"sweep", "demo"};
  for (const std::string& setting : small_study()) words.push_back(setting);
  words.insert(words.end(), {"test=0", "--grid", "method=random,sbal+stap", "--grid", "seed=0,1",
                             "--no-report", "--quiet", "--out", folder});
  ASSERT_EQ(run_stap(words).exit_code, 0);

  const Finished result = run_stap({"analyse", folder, "--quiet"});
  const Finished table = run_stap({"table", folder});
  const Finished evaluate = run_stap({"evaluate", folder / "method=random,seed=0"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "error         the study has no test set"));
  EXPECT_TRUE(contains(result.out, "activations   the study has no test set"));
  const json run = read_json(folder / "method=sbal+stap,seed=1/analysis.json");
  for (const char* section : {"errors", "activations", "calibration"})
    EXPECT_EQ(run.at(section), (json{{"absent", "the study has no test set"}})) << section;
  EXPECT_EQ(run.at("complete"), true);
  EXPECT_EQ(run.at("chosen").at("rounds").size(), kRounds);
  EXPECT_GT(run.at("cost").at("train_seconds_per_step"), 0.0);
  EXPECT_EQ(run.at("cost").at("initial"), 15.0);
  EXPECT_TRUE(
      contains(read_json(folder / "analysis.json").at("methods").at(1).at("cost").at("verdict"),
               "no verdict: without a test set"));
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(
      contains(unwrapped(table.out), "random: 2 runs have no errors: their study has no test set"));
  EXPECT_EQ(evaluate.exit_code, 3);
  EXPECT_TRUE(contains(evaluate.err, "has no test set"));
}

// Seconds of answers that failed count, the steps they did not make do not.
// Mutations: a mean in place of the median (15 s), failures that cost nothing (2 s).
TEST_F(AnalyseProgram, FailedAnswersCostTimeAndASlowOneIsNotTypical) {
  const fs::path folder = one_run();
  fs::remove(folder / "journal.jsonl");
  {
    Journal journal(folder / "journal.jsonl");
    bool slow = true;
    for (const char* status : {"ok", "ok", "ok", "failed", "ok"}) {
      config::Value answer;
      answer.set("acquisition", 0);
      answer.set("candidate", 1);
      answer.set("step", 2);
      answer.set("status", status);
      answer.set("reason", "");
      answer.set("attempts", 1);
      answer.set("seconds", slow ? 52.0 : 2.0);
      slow = false;
      journal.append("answer", answer);
    }
    journal.commit();
  }

  const Finished result = run_stap({"analyse", folder, "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json analysis = read_json(folder / "analysis.json");
  EXPECT_EQ(analysis.at("cost").at("acquire_seconds_per_step"), 2.5);
}

TEST_F(AnalyseProgram, RefusesWhatItCannotAnalyse) {
  const fs::path folder = one_run();

  const Finished nowhere = run_stap({"analyse", folder_.path("nowhere")});
  const Finished zero = run_stap({"analyse", folder, "--efficiency", "0"});
  fs::remove(folder / "metrics.jsonl");
  const Finished fresh = run_stap({"analyse", folder});

  EXPECT_EQ(nowhere.exit_code, 3) << nowhere.err;
  EXPECT_EQ(zero.exit_code, 2) << zero.err;
  EXPECT_EQ(fresh.exit_code, 3) << fresh.err;
  EXPECT_TRUE(contains(fresh.err, "no evaluation yet"));
}

}  // namespace
}  // namespace stap::test
