// `stap predict` and `stap evaluate` as a user runs them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <sstream>

#include <nlohmann/json.hpp>

#include "stap/data/array_file.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "stap/nn/model_file.h"
#include "support/environment.h"
#include "support/h5_writing.h"
#include "support/networks.h"
#include "support/older_models.h"
#include "support/process.h"

namespace stap::test {
namespace {

constexpr std::size_t kRows = 3, kSteps = 4, kPoints = 16, kTimes = kSteps + 1;

class Surrogates : public ::testing::Test {
 protected:
  // Two members on 16 points in a model file, three random states and three random trajectories.
  void SetUp() override {
    model_.members = {fresh_member(model_.spec, some_scaling(1), Rng(1)),
                      fresh_member(model_.spec, some_scaling(1), Rng(2))};
    write_model(model_path_, model_);
    H5File(input_).dataset("states", {kRows, 1, kPoints}, values(kRows * kPoints));
    H5File(test_).dataset("trajectory", {kRows, kTimes, 1, kPoints},
                          values(kRows * kTimes * kPoints));
  }

  static std::vector<double> values(std::size_t n) {
    std::vector<double> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = Rng(7).normal(i);
    return all;
  }

  Finished predict(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"predict", model_path_, "--input",  input_,
                                   "--steps", "4",         "--output", output_};
    words.insert(words.end(), more.begin(), more.end());
    return run_stap(words);
  }

  // What a member (or kMean) makes of a row, one application after the other.
  std::vector<float> rollout(std::span<const double> initial, int member) const {
    const auto engine = make_cpu_engine(model_.spec, 2, 1);
    for (int m = 0; m < 2; ++m) engine->load(m, model_.members[static_cast<std::size_t>(m)]);
    const auto committee = engine->committee({0, 1});
    States<float> states(model_.spec.grid, kTimes);
    convert(initial, states.row(0));
    const RowsId rows = committee->rows(kTimes);
    committee->put(rows, 0, states.view());
    for (std::size_t t = 0; t < kSteps; ++t) {
      const std::size_t from[] = {t}, to[] = {t + 1};
      const int which[] = {member};
      committee->advance(rows, from, which, rows, to);
    }
    committee->get(rows, 0, states.view());
    return {states.values().begin() + kPoints, states.values().end()};
  }

  // A run of no purpose on states of kPoints; its folder is `name`.
  void small_run(const std::string& name, const std::vector<std::string>& settings) const {
    const std::string text =
        "run demo pde.points=16 network.modes=[4] network.width=4 train.epochs=1 pool=4 test=2 "
        "study.initial=1 rounds=0 budget=2 study.steps=3 method=random --device cpu --quiet "
        "--no-report --out";
    std::istringstream words(text);
    std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
    command.push_back(folder_.path(name));
    command.insert(command.end(), settings.begin(), settings.end());
    const Finished done = run_stap(command);
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }

  void expect_refused(const Finished& result, int exit_code, const std::string& part) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("stap: ")) << result.err;
    EXPECT_TRUE(contains(result.err, part));
    EXPECT_FALSE(contains(result.err, "HDF5-DIAG"));
    EXPECT_FALSE(std::filesystem::exists(output_));
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      EXPECT_FALSE(contains(entry.path().string(), ".tmp-")) << "something was left behind";
  }

  TemporaryFolder folder_;
  const std::string model_path_ = folder_.path("model.safetensors");
  const std::string input_ = folder_.path("in.h5");
  const std::string test_ = folder_.path("test.h5");
  const std::string output_ = folder_.path("out.h5");
  Model model_{small_shape({kPoints}, {8}), {}};
};

using Predict = Surrogates;
using Evaluate = Surrogates;

TEST_F(Predict, WritesWhatTheCommitteeComputesBitForBit) {
  const Finished result = predict({"--members", "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "3 trajectories of 4 steps, average of 2 networks"));
  EXPECT_TRUE(contains(result.out, "; all finite"));
  EXPECT_EQ(std::ranges::count(result.out, '\n'), 1);
  EXPECT_EQ(result.err, "");
  const Array<double> mean = read_array(output_, "mean"), members = read_array(output_, "members");
  ASSERT_EQ(mean.shape, (std::vector<std::size_t>{kRows, kTimes, 1, kPoints}));
  ASSERT_EQ(members.shape, (std::vector<std::size_t>{2, kRows, kTimes, 1, kPoints}));
  const std::vector<double> all = values(kRows * kPoints);
  const auto expect_rollout = [&](const double* written, std::size_t b, int member) {
    const std::span<const double> initial(all.data() + b * kPoints, kPoints);
    EXPECT_TRUE(std::equal(initial.begin(), initial.end(), written));
    const std::vector<float> expected = rollout(initial, member);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), written + kPoints,
                           [](float a, double w) { return static_cast<double>(a) == w; }))
        << "row " << b << ", member " << member;
  };
  for (std::size_t b = 0; b < kRows; ++b) {
    const std::size_t at = b * kTimes * kPoints;
    expect_rollout(mean.values.data() + at, b, kMean);
    expect_rollout(members.values.data() + at, b, 0);
    expect_rollout(members.values.data() + members.values.size() / 2 + at, b, 1);
  }
  EXPECT_EQ(read_text_attribute(output_, "/", "format"), "prediction/1");
  EXPECT_EQ(read_text_attribute(output_, "/", "model"), model_path_);
  EXPECT_EQ(read_attribute(output_, "/", "steps").values.at(0), 4.0);
}

// Networks that are told the time: what is asked for must not change what they are told. Those of
// an earlier version do not say over how many steps it runs, but their run does.
TEST_F(Predict, AShorterPredictionIsTheBeginningOfALongerOne) {
  small_run("timed", {"network.time_input=true"});
  const auto predicted = [&](const std::string& model, const char* steps) {
    const Finished result = run_stap({"predict", model, "--input", input_, "--output", output_,
                                      "--steps", steps, "--device", "cpu"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    // It was trained on trajectories of three steps.
    EXPECT_EQ(contains(result.err, "over 3 steps"), std::stoi(steps) > 3) << result.err;
    const Array<double> mean = read_array(output_, "mean");
    std::filesystem::remove(output_);
    return mean;
  };
  const auto expect_beginnings = [&](const Array<double>& longest) {
    for (const std::size_t steps : {1u, 2u, 3u, 4u}) {
      const Array<double> shorter = predicted(folder_.path("timed"), std::to_string(steps).c_str());
      const std::size_t values = (steps + 1) * kPoints;
      for (std::size_t b = 0; b < kRows; ++b)
        EXPECT_TRUE(std::equal(shorter.values.begin() + long(b * values),
                               shorter.values.begin() + long((b + 1) * values),
                               longest.values.begin() + long(b * 6 * kPoints)))
            << "row " << b << " of " << steps << " steps";
    }
  };

  const Array<double> longest = predicted(folder_.path("timed"), "5");
  expect_beginnings(longest);
  test::make_networks_older(folder_.path("timed"));
  expect_beginnings(longest);
  const std::string alone = folder_.path("alone.safetensors");
  std::filesystem::copy_file(folder_.path("timed/rounds/00/committee.safetensors"), alone);

  expect_refused(run_stap({"predict", alone, "--input", input_, "--output", output_, "--steps", "2",
                           "--device", "cpu"}),
                 3, "give the folder of their run");
}

TEST_F(Predict, ReadsNpyStates) {
  ASSERT_EQ(predict().exit_code, 0);
  const std::vector<double> expected = read_array(output_, "mean").values;
  const std::vector<std::size_t> shape{kRows, kPoints};
  write_npy(folder_.path("in.npy"), shape, values(kRows * kPoints));

  const Finished result = run_stap({"predict", model_path_, "--input", folder_.path("in.npy"),
                                    "--steps", "4", "--output", output_});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_array(output_, "mean").values, expected);
}

TEST_F(Predict, MembersOnlyWhenAskedAndThreadsDoNotShow) {
  ASSERT_EQ(predict({"--threads", "1"}).exit_code, 0);
  const std::string one = content(output_);
  EXPECT_EQ(list_datasets(output_), std::vector<std::string>{"mean"});

  ASSERT_EQ(predict({"--threads", "3"}).exit_code, 0);

  EXPECT_EQ(content(output_), one);
}

TEST_F(Predict, ProgressGoesToStderrUnlessQuiet) {
  EXPECT_TRUE(contains(predict().err, "predicting: "));
  EXPECT_EQ(predict({"--quiet"}).err, "");
}

TEST_F(Predict, ARunFolderStandsForItsNewestCommittee) {
  const std::filesystem::path run = folder_.path("run");
  for (const char* round : {"rounds/02", "rounds/10"})
    std::filesystem::create_directories(run / round);
  Model other = model_;
  std::swap(other.members[0], other.members[1]);
  write_model(run / "rounds/02/committee.safetensors", model_);
  write_model(run / "rounds/10/committee.safetensors", other);

  const Finished result = run_stap({"predict", run, "--input", test_, "--steps", "1", "--output",
                                    output_, "--members", "--json", "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary.at("model"), (run / "rounds/10/committee.safetensors").string());
  EXPECT_EQ(summary.at("rows"), 3);
  EXPECT_EQ(summary.at("not_finite"), 0);
  // The first time of the test trajectories; member 0 is the second of the first model.
  const Array<double> members = read_array(output_, "members");
  const std::vector<double> all = values(kPoints);
  EXPECT_EQ(members.values[0], all[0]);
  EXPECT_EQ(members.values[kPoints], static_cast<double>(rollout(all, 1)[0]));
}

TEST_F(Predict, WhatIsNotFiniteIsKeptAndCounted) {
  std::vector<double> states = values(kRows * kPoints);
  states[kPoints + 3] = std::numeric_limits<double>::quiet_NaN();
  H5File(input_).dataset("states", {kRows, 1, kPoints}, states);

  const Finished result = predict({"--members"});

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "; 1 not finite"));
  const Array<double> mean = read_array(output_, "mean");
  EXPECT_TRUE(std::isnan(mean.values[kTimes * kPoints + kPoints]));
  EXPECT_TRUE(std::isfinite(mean.values[kTimes * kPoints - 1]));
  EXPECT_TRUE(std::isfinite(mean.values[2 * kTimes * kPoints + kPoints]));
}

TEST_F(Predict, BadUsageIsExitCode2) {
  expect_refused(run_stap({"predict"}), 2, "model");
  expect_refused(run_stap({"predict", model_path_, "--input", input_, "--output", output_}), 2,
                 "--steps");
  expect_refused(predict({"--steps", "0"}), 2, "--steps");
  expect_refused(predict({"--member"}), 2, "did you mean '--members'?");
}

TEST_F(Predict, BadModelsAndInputsAreExitCode3) {
  const auto with = [&](const std::string& model, const std::string& input) {
    return run_stap({"predict", model, "--input", input, "--steps", "1", "--output", output_});
  };
  const std::string whole = content(model_path_);
  const std::string cut = folder_.file("cut.safetensors", whole.substr(0, whole.size() / 2));
  const std::string text = folder_.file("text.safetensors", "no model");
  const std::string wide = folder_.path("wide.h5"), other = folder_.path("other.h5");
  H5File(wide).dataset("states", {2, 1, 32}, values(64));
  H5File(other).dataset("values", {2, 1, kPoints}, values(32));
  std::filesystem::create_directory(folder_.path("empty"));
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);

  for (const std::string& no_file : {pipe, std::string("/dev/zero")}) {
    expect_refused(with(no_file, input_), 3, "cannot read " + no_file);
    expect_refused(with(model_path_, no_file), 3, "is not a file");
  }
  expect_refused(with(folder_.path("missing"), input_), 3, "no such model file or run folder");
  expect_refused(with(folder_.path("empty"), input_), 3, "rounds/NN/committee.safetensors");
  expect_refused(with(cut, input_), 3, "cut.safetensors is not a usable model file");
  expect_refused(with(text, input_), 3, "text.safetensors is not a usable model file");
  expect_refused(with(input_, input_), 3, "not a usable model file");
  expect_refused(with(model_path_, folder_.path("missing.h5")), 3, "no such file");
  expect_refused(with(model_path_, model_path_), 3, "HDF5");
  expect_refused(with(model_path_, wide), 3, "2 x 1 x 32, expected B x 1 x 16");
  expect_refused(with(model_path_, other), 3, "it has: values");
}

TEST_F(Predict, OutputThatCannotBeWrittenIsRefused) {
  const auto with = [&](const std::string& output, const std::string& steps) {
    return run_stap(
        {"predict", model_path_, "--input", input_, "--steps", steps, "--output", output});
  };

  expect_refused(with(folder_.path("no/out.h5"), "1"), 6, "no folder");
  expect_refused(with(folder_.path().string(), "1"), 6, "not a file");
  expect_refused(with("/proc/out.h5", "1"), 6, "/proc/out.h5");
  expect_refused(with(output_, "1000000000000"), 6, "bytes are free");
  expect_refused(with(input_, "1"), 2, input_);
  expect_refused(with(model_path_, "1"), 2, model_path_);
}

// Ctrl-C in the middle: the program ends by that signal and leaves nothing behind.
TEST_F(Predict, InterruptedLeavesNothingBehind) {
  const std::size_t before = folder_.entries();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Seconds of work, far more than this test waits.
    execl(STAP_TEST_PROGRAM, "stap", "predict", model_path_.c_str(), "--quiet", "--input",
          input_.c_str(), "--output", output_.c_str(), "--steps", "200000", nullptr);
    _exit(127);
  }
  for (int i = 0; i < 2000 && folder_.entries() == before; ++i) usleep(1000);
  usleep(50000);
  kill(child, SIGINT);
  const int status = test::wait_for(child);

  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_EQ(folder_.entries(), before);
}

// Against errors summed here from the committee's own predictions.
TEST_F(Evaluate, JsonHasTheMetricsOfBothScales) {
  const std::vector<double> truth = values(kRows * kTimes * kPoints);
  double rmse = 0;
  for (int m = 0; m < 2; ++m)
    for (std::size_t b = 0; b < kRows; ++b) {
      const double* trajectory = truth.data() + b * kTimes * kPoints;
      const std::vector<float> predicted = rollout({trajectory, kPoints}, m);
      double squared = 0;
      for (std::size_t i = 0; i < predicted.size(); ++i) {
        const double target = static_cast<double>(static_cast<float>(trajectory[kPoints + i]));
        squared += std::pow(static_cast<double>(predicted[i]) - target, 2);
      }
      rmse += std::sqrt(squared / static_cast<double>(kSteps * kPoints)) / 6;
    }

  const Finished result = run_stap({"evaluate", model_path_, "--test", test_, "--json", "--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto json = nlohmann::json::parse(result.out);
  // A sum of 64 terms in another order.
  EXPECT_NEAR(json.at("rmse").get<double>(), rmse, 1e-13 * rmse);
  EXPECT_NEAR(json.at("rmse_published").get<double>(), rmse * 8 / 3, 1e-13 * rmse * 8 / 3);
  EXPECT_EQ(json.at("trajectories"), 3);
  EXPECT_EQ(json.at("members"), 2);
  EXPECT_EQ(json.at("steps"), 4);
  EXPECT_EQ(json.at("diverged"), 0);
  EXPECT_EQ(json.at("rmse_by_step").size(), kSteps);
  EXPECT_EQ(json.at("model"), model_path_);
}

// The prediction of a mirrored state is the mirrored prediction, but for the rounding of three
// steps, which it is not without images. Mutation: --images is not handed on; a run's symmetries
// are not looked at.
TEST_F(Evaluate, ImagesAreThoseOfTheRunsSymmetries) {
  const ScopedVariable cache("STAP_CACHE", folder_.path("cache"));
  small_run("mirrored", {"train.symmetries=[\"x -> -x, u -> -u\"]", "study.images=true"});
  small_run("plain", {});
  const std::vector<double> state = values(kPoints);
  std::vector<double> both = state;  // image.u(x) = -u(-x)
  for (std::size_t x = 0; x < kPoints; ++x) both.push_back(-state[(kPoints - x) % kPoints]);
  H5File(input_).dataset("states", {2, 1, kPoints}, both);
  const auto far = [&](std::vector<std::string> more) {
    std::vector<std::string> words{
        "predict", folder_.path("mirrored"), "--input", input_, "--steps", "3", "--output",
        output_};
    words.insert(words.end(), more.begin(), more.end());
    const Finished done = run_stap(words);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    const std::vector<double> mean = read_array(output_, "mean").values;  // [2, 4, 1, 16]
    double most = 0;
    for (std::size_t x = 0; x < kPoints; ++x)
      most = std::max(
          most, std::abs(mean[3 * kPoints + x] + mean[7 * kPoints + (kPoints - x) % kPoints]));
    return most;
  };

  EXPECT_LT(far({"--images"}), 1e-5);
  EXPECT_GT(far({}), 1e-3);
  const Finished with = run_stap({"evaluate", folder_.path("mirrored"), "--images", "--json"});
  const Finished without = run_stap({"evaluate", folder_.path("mirrored"), "--json"});
  const Finished none = run_stap({"evaluate", folder_.path("plain"), "--images"});
  const Finished file = run_stap({"evaluate", model_path_, "--test", test_, "--images"});

  ASSERT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(nlohmann::json::parse(with.out).at("images"), 2);
  const auto over = nlohmann::json::parse(with.out), plain = nlohmann::json::parse(without.out);
  EXPECT_NE(over.at("rmse"), plain.at("rmse"));
  // The run has measured the same, both ways.
  const auto round = nlohmann::json::parse(content(folder_.path("mirrored/metrics.jsonl")));
  EXPECT_EQ(round.at("rmse"), plain.at("rmse"));
  EXPECT_EQ(round.at("images").at("maps"), 2);
  EXPECT_EQ(round.at("images").at("rmse"), over.at("rmse"));
  EXPECT_EQ(round.at("images").at("mean_model"), over.at("mean_model"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(contains(none.err, "was trained without symmetries"));
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_TRUE(contains(file.err, "--images needs"));
}

// Mutation: nothing is said, or always something.
TEST_F(Evaluate, NetworksOfAnEarlierRoundAreNamed) {
  const ScopedVariable cache("STAP_CACHE", folder_.path("cache"));
  small_run("run", {"rounds=1", "keep_committees=all"});

  const Finished whole = run_stap({"evaluate", folder_.path("run"), "--quiet"});
  std::filesystem::remove(folder_.path("run/rounds/01/committee.safetensors"));
  const Finished older = run_stap({"evaluate", folder_.path("run"), "--quiet"});

  EXPECT_EQ(whole.err, "");
  EXPECT_EQ(older.exit_code, 0) << older.err;
  EXPECT_TRUE(contains(older.err,
                       "the networks of round 1, the last one that was measured, are "
                       "missing; those of round 0 are taken"));
}

TEST_F(Evaluate, TableNamesBothScales) {
  const Finished result = run_stap({"evaluate", model_path_, "--test", test_});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part :
       {"3 trajectories of 4 steps; 0 of 6 rollouts diverged", "\nRMSE   ", "\nRMSE published   ",
        "\nRMSE, std. error", "\nNRMSE   ", "\nMAE   ", "\nRMSE, step 4"})
    EXPECT_TRUE(contains(result.out, part));
  EXPECT_TRUE(contains(result.err, "evaluate: "));
}

TEST_F(Evaluate, DivergedRolloutsAreNullAndDiv) {
  Model wild = model_;
  for (float& weight : wild.members[0].weights.back().values)
    weight = std::numeric_limits<float>::infinity();
  write_model(model_path_, wild);

  const Finished json = run_stap({"evaluate", model_path_, "--test", test_, "--json"});
  const Finished table = run_stap({"evaluate", model_path_, "--test", test_});

  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_TRUE(nlohmann::json::parse(json.out).at("rmse").is_null());
  EXPECT_EQ(nlohmann::json::parse(json.out).at("diverged"), 3);
  EXPECT_TRUE(contains(table.out, "div(3)"));
  EXPECT_FALSE(contains(table.out, "inf"));
}

TEST_F(Evaluate, BadTestsAreExitCode3) {
  const auto with = [&](const std::string& name, const std::vector<hsize_t>& shape,
                        std::vector<double> content) {
    H5File(test_).dataset(name, shape, content);
    return run_stap({"evaluate", model_path_, "--test", test_});
  };
  std::vector<double> gap = values(2 * 3 * kPoints);
  gap[(3 + 2) * kPoints] = std::numeric_limits<double>::quiet_NaN();

  expect_refused(with("trajectory", {3, 2, 1, 32}, values(192)), 3,
                 "3 x 2 x 1 x 32, expected B x T x 1 x 16");
  {
    ArrayWriter writer(test_);
    const std::vector<double> states = values(96);
    writer.describe({"other", make_grid(1, {kPoints}, {3.0}), 0.1});
    writer.add("trajectory", {3, 2, 1, kPoints}, states);
    writer.commit();
  }
  expect_refused(run_stap({"evaluate", model_path_, "--test", test_}), 3, "domain of length 3");
  expect_refused(with("states", {3, 1, kPoints}, values(48)), 3, "no dataset 'trajectory'");
  expect_refused(with("trajectory", {3, 1, 1, kPoints}, values(48)), 3, "at least 2 times");
  expect_refused(with("trajectory", {2, 3, 1, kPoints}, gap), 3,
                 "test.h5: test trajectory 1 is not finite at time 2");
  expect_refused(run_stap({"evaluate", model_path_, "--test", folder_.path("no.h5")}), 3,
                 "no such file");
  expect_refused(run_stap({"evaluate", folder_.path("no"), "--test", test_}), 3, "no such model");
  expect_refused(run_stap({"evaluate", model_path_}), 2, "--test");
}

}  // namespace
}  // namespace stap::test
