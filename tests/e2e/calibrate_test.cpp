// `stap calibrate`, and what `predict` and `evaluate` make of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include "stap/data/store.h"
#include "stap/folder/run_folder.h"
#include "support/h5_writing.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kCellsHere = 16, kStepsHere = 3;

class Calibrate : public ::testing::Test {
 protected:
  static Finished run(const std::string& command, const std::vector<std::string>& more = {}) {
    std::istringstream words(command);
    std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
    all.insert(all.end(), more.begin(), more.end());
    return run_stap(all);
  }
  // A run of no purpose with a test set of 40.
  void small_run(const std::string& more = "test=40 rounds=0") const {
    const Finished done = run(
        "run demo pde.points=16 network.modes=[4] network.width=4 train.epochs=1 pool=6 "
        "study.initial=2 budget=3 study.steps=3 method=random --device cpu --quiet --no-report " +
        more + " --out " + run_);
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  static void expect_refused(const Finished& done, int exit_code, const std::string& part) {
    EXPECT_EQ(done.exit_code, exit_code) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_TRUE(contains(done.err, part));
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("run");
  const std::string input_ = folder_.path("in.h5"), output_ = folder_.path("out.h5");
};

TEST_F(Calibrate, GivesPredictionsBarsAndSaysHowWellTheyHold) {
  small_run();
  std::vector<double> states(2 * kCellsHere);
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i] = std::sin(0.7 * static_cast<double>(i));
  H5File(input_).dataset("states", {2, 1, kCellsHere}, states);

  const Finished calibrated = run("calibrate --quiet " + run_);
  const Finished predicted =
      run("predict --bands --quiet --steps 4 --input " + input_ + " --output " + output_, {run_});
  const Finished evaluated = run("evaluate --json --quiet " + run_);

  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.err;
  EXPECT_TRUE(contains(calibrated.out, "90 % error bars for steps 1 to 3"));
  EXPECT_TRUE(contains(calibrated.out, "20 of the 40 trajectories of its test set"));
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_TRUE(contains(predicted.err, "error bars reach to step 3"));
  const Array<double> bar = read_array(output_, "bar"), band = read_array(output_, "band");
  EXPECT_EQ(bar.shape, (std::vector<std::size_t>{2, 5}));
  EXPECT_EQ(band.shape, (std::vector<std::size_t>{2, 5, 1, kCellsHere}));
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(bar.values[b * 5], 0);
    for (std::size_t t = 1; t <= kStepsHere; ++t) {
      EXPECT_GT(bar.values[b * 5 + t], 0);
      EXPECT_TRUE(std::isfinite(bar.values[b * 5 + t]));
    }
    EXPECT_TRUE(std::isinf(bar.values[b * 5 + 4]));
  }
  EXPECT_EQ(read_array(output_, "bar_channels").values, bar.values);  // one channel
  EXPECT_EQ(read_attribute(output_, "/", "bar_level").values[0], 0.9);
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json bars = Json::parse(evaluated.out).at("error_bars");
  EXPECT_EQ(bars.at("left_out"), 20);
  EXPECT_EQ(bars.at("judged_on"), 20);
  EXPECT_EQ(bars.at("first").at("found").at("all").size(), kStepsHere);
  EXPECT_NEAR(bars.at("least").get<double>(), 9.0 / 20, 1e-12);  // see CoverageRange
  const Finished table = run("evaluate --quiet " + run_);
  EXPECT_TRUE(contains(table.out, "error bars  90 % asked, 45.0 to 100.0 % expected"));
  EXPECT_TRUE(contains(table.out, "judged on the other 20"));
}

// What the analysis says is what `evaluate` says; charts are of it.
TEST_F(Calibrate, IsAnalysedAndDrawn) {
  small_run();
  const std::string figure = folder_.path("coverage.svg");
  const Finished early = run("plot --figure coverage --quiet --out " + figure, {run_});
  ASSERT_EQ(run("calibrate --quiet " + run_).exit_code, 0);

  const Finished analysed = run("analyse --json --quiet " + run_);
  const Finished evaluated = run("evaluate --json --quiet " + run_);
  const Finished plotted = run("plot --figure coverage --quiet --out " + figure, {run_});
  const Finished reported = run("report --quiet --out " + folder_.path("report.html") + " " + run_);

  EXPECT_NE(early.exit_code, 0);
  EXPECT_TRUE(contains(early.err, "stap calibrate"));
  ASSERT_EQ(analysed.exit_code, 0) << analysed.err;
  EXPECT_EQ(Json::parse(analysed.out).at(0).at("error_bars"),
            Json::parse(evaluated.out).at("error_bars"));
  EXPECT_TRUE(contains(run("analyse --quiet " + run_).out, "error bars    90.0 to"));
  ASSERT_EQ(plotted.exit_code, 0) << plotted.err;
  EXPECT_TRUE(contains(content(figure), "Do the error bars hold?"));
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  EXPECT_TRUE(contains(content(folder_.path("report.html")), "How wide are the error bars?"));
}

// Where all of the test set was calibrated on, its bars are not judged by it, but by a file.
TEST_F(Calibrate, IsNotJudgedByItsOwnTrajectories) {
  small_run();
  ASSERT_EQ(run("calibrate --on test --level 0.95 --quiet " + run_).exit_code, 0);

  const Finished own = run("evaluate --quiet " + run_);

  ASSERT_EQ(own.exit_code, 0) << own.err;
  EXPECT_TRUE(
      contains(own.out, "all 40 trajectories are those that the error bars were calibrated"));
}

TEST_F(Calibrate, RetrainedNetworksHaveNoBars) {
  small_run();
  ASSERT_EQ(run("calibrate --quiet " + run_).exit_code, 0);
  H5File(input_).dataset("states", {1, 1, kCellsHere}, std::vector<double>(kCellsHere, 0.5));
  small_run("test=40 rounds=1");

  const Finished predicted =
      run("predict --bars --quiet --steps 2 --input " + input_ + " --output " + output_, {run_});
  const Finished evaluated = run("evaluate --json --quiet " + run_);
  const Finished checked = run("fsck " + run_);

  expect_refused(predicted, 3, "are of other networks (round 0), trained before these");
  EXPECT_FALSE(std::filesystem::exists(output_));
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_TRUE(contains(evaluated.err, "are of other networks (round 0)"));
  EXPECT_FALSE(Json::parse(evaluated.out).contains("error_bars"));
  EXPECT_EQ(checked.exit_code, 0) << checked.out;
  ASSERT_EQ(run("calibrate --quiet " + run_).exit_code, 0);
  EXPECT_EQ(
      run("predict --bars --quiet --steps 2 --input " + input_ + " --output " + output_, {run_})
          .exit_code,
      0);
}

TEST_F(Calibrate, RefusesWhatCannotCalibrate) {
  small_run();
  const TransitionSet trained = RunFolder(run_).read_transitions();
  // Ten trajectories that nobody knows, but for one state that was trained on.
  std::vector<double> values(10 * (kStepsHere + 1) * kCellsHere);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::cos(static_cast<double>(i * i % 97));
  std::copy_n(trained.outputs.begin(), kCellsHere,
              values.begin() + (4 * (kStepsHere + 1) + 2) * kCellsHere);
  H5File(input_).dataset("trajectory", {10, kStepsHere + 1, 1, kCellsHere}, values);
  H5File(output_).dataset("trajectory", {10, kStepsHere + 1, 1, kCellsHere},
                          std::vector<double>(values.size(), 0.5));

  expect_refused(run("calibrate --quiet --on " + input_, {run_}), 3,
                 "trajectory 4 of those to calibrate on has been trained on (its state at time 2");
  expect_refused(run("calibrate --quiet --on " + output_, {run_}), 3, "begin with the same state");
  expect_refused(run("calibrate --quiet --level 0.99 " + run_), 2,
                 "20 trajectories allow levels up to 0.9523, not 0.99: take 99 at least");
  expect_refused(run("calibrate --quiet --on test:2 " + run_), 2, "--on is test:2");
  expect_refused(run("calibrate --quiet " + RunFolder(run_).newest_committee().path.string()), 2,
                 "is no folder of a run");
  expect_refused(run("predict --bars --quiet --steps 2 --input " + output_, {run_}), 3,
                 "has no error bars: 'stap calibrate " + run_ + "' makes them");
  EXPECT_FALSE(std::filesystem::exists(RunFolder(run_).bars_file()));
}

TEST_F(Calibrate, HeldBackStepsAreNoTrajectories) {
  small_run("test=0 validation=0.3 rounds=0");

  expect_refused(run("calibrate --quiet " + run_), 2, "single steps that are held back cannot");
}

}  // namespace
}  // namespace stap::test
