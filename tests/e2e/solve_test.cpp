// `stap solve` as a user runs it.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <nlohmann/json.hpp>

#include "stap/data/store.h"
#include "support/h5_writing.h"
#include "support/process.h"

namespace stap::test {
namespace {

using std::numbers::pi;

// A Cole-Hopf solution of D = 0.02 at time t.
double exact(double x, double t) {
  const double d = 0.02, k = 2 * pi, decay = std::exp(-d * k * k * t);
  return 2 * d * k * decay * std::sin(k * x) / (1.1 + decay * std::cos(k * x));
}

class Solve : public ::testing::Test {
 protected:
  // Three rows of 128 cells: exact(x, 0), NaN, and exact(x, 0.1).
  void SetUp() override {
    std::vector<double> values(3 * 128, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < 128; ++i) {
      const double x = (static_cast<double>(i) + 0.5) / 128;
      values[i] = exact(x, 0);
      values[256 + i] = exact(x, 0.1);
    }
    H5File(input_).dataset("states", {3, 1, 128}, values);
  }

  Finished solve(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"solve",
                                   "burgers",
                                   "--input",
                                   input_,
                                   "--output",
                                   output_,
                                   "--steps",
                                   "4",
                                   "points=128",
                                   "dt=0.1",
                                   "viscosity=0.06283185307179587"};
    words.insert(words.end(), more.begin(), more.end());
    return run_stap(words);
  }
  // `stap solve` with these words only.
  static Finished run(std::vector<std::string> words) {
    words.insert(words.begin(), {"solve"});
    return run_stap(words);
  }
  void expect_refused(const Finished& result, int exit_code, const std::string& part) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("stap: ")) << result.err;
    EXPECT_TRUE(contains(result.err, part));
    EXPECT_FALSE(contains(result.err, "HDF5-DIAG"));
    EXPECT_EQ(folder_.entries(), entries_) << "something was left behind";
  }

  TemporaryFolder folder_;
  const std::string input_ = folder_.path("in.h5");
  const std::string output_ = folder_.path("out.h5");
  std::size_t entries_ = 1;
};

TEST_F(Solve, WritesTrajectoriesThatFollowTheExactSolution) {
  const Finished result = solve({"--quiet"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "3 rows of 4 steps: 2 ok, 1 refused, 0 failed"));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  const Array<double> trajectory = read_array(output_, "trajectory");
  ASSERT_EQ(trajectory.shape, (std::vector<std::size_t>{3, 5, 1, 128}));
  for (std::size_t time = 0; time < 5; ++time)
    for (std::size_t i = 0; i < 128; ++i) {
      const double x = (static_cast<double>(i) + 0.5) / 128;
      const double t = 0.1 * static_cast<double>(time);
      // Second order: max|u| is 0.5, dx^2 is 6e-5 and the third derivative in the hundreds.
      EXPECT_NEAR(trajectory.values[time * 128 + i], exact(x, t), 1e-3);
      EXPECT_TRUE(std::isnan(trajectory.values[(5 + time) * 128 + i]));
      EXPECT_NEAR(trajectory.values[(10 + time) * 128 + i], exact(x, t + 0.1), 1e-3);
    }
  EXPECT_EQ(read_array(output_, "status").values, (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(read_array(output_, "failed_step").values, (std::vector<double>{-1, 1, -1}));
  EXPECT_TRUE(contains(read_text(output_, "reason").values.at(1), "nan"));
  EXPECT_EQ(read_text(output_, "reason").values.at(0), "");
  EXPECT_EQ(read_attribute(output_, "/", "dt").values.at(0), 0.1);
  EXPECT_EQ(read_text_attribute(output_, "/", "pde"), "burgers");
  const std::string options = read_text_attribute(output_, "/", "options");
  EXPECT_TRUE(contains(options, "points: 128"));
  EXPECT_TRUE(contains(options, "cfl: 0.25"));
  EXPECT_EQ(folder_.entries(), 2u);
}

TEST_F(Solve, OutputIsInputAgainAndAnOldOneIsReplaced) {
  ASSERT_EQ(solve().exit_code, 0);
  const Array<double> first = read_array(output_, "trajectory");
  const std::string next = folder_.path("next.h5");
  std::filesystem::copy(output_, next);

  const Finished again = run({"burgers", "--input", output_, "--output", next, "--steps", "1",
                              "points=128", "dt=0.1", "viscosity=0.06283185307179587"});

  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Array<double> second = read_array(next, "trajectory");
  EXPECT_EQ(second.shape, (std::vector<std::size_t>{3, 2, 1, 128}));
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(second.values[i], first.values[i]);
}

TEST_F(Solve, ThreadsDoNotChangeTheResult) {
  ASSERT_EQ(solve({"--threads", "1"}).exit_code, 0);
  const std::vector<double> one = read_array(output_, "trajectory").values;
  ASSERT_EQ(solve({"--threads", "3"}).exit_code, 0);
  const std::vector<double> three = read_array(output_, "trajectory").values;

  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i)
    ASSERT_TRUE(one[i] == three[i] || (std::isnan(one[i]) && std::isnan(three[i]))) << i;
}

TEST_F(Solve, JsonSummary) {
  const Finished result = solve({"--json"});

  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary.at("rows"), 3);
  EXPECT_EQ(summary.at("ok"), 2);
  EXPECT_EQ(summary.at("refused"), 1);
  EXPECT_EQ(summary.at("output"), output_);
}

TEST_F(Solve, ProgressGoesToStderrUnlessQuiet) {
  EXPECT_TRUE(contains(solve().err, "solving"));
  EXPECT_FALSE(contains(solve({"--quiet"}).err, "solving"));
}

// A row that fails keeps its states up to there; when every row fails the file is written all the
// same and the exit code is 7.
TEST_F(Solve, EveryRowFailingIsExitCode7) {
  const Finished result = solve({"max_abs=0.01"});

  EXPECT_EQ(result.exit_code, 7);
  EXPECT_TRUE(contains(result.out, "0 ok, 3 refused, 0 failed"));
  EXPECT_TRUE(contains(result.err, "row 0 was refused at step 1"));
  const Array<double> trajectory = read_array(output_, "trajectory");
  EXPECT_NEAR(trajectory.values[0], exact(0.5 / 128, 0), 1e-12);
  EXPECT_TRUE(std::isnan(trajectory.values[128]));
}

TEST_F(Solve, BadOptionsAreExitCode2) {
  expect_refused(solve({"vicosity=0.1"}), 2, "did you mean 'viscosity'?");
  expect_refused(solve({"points=many"}), 2, "points");
  expect_refused(solve({"points=0"}), 2, "points");
  expect_refused(solve({"cfl=-1"}), 2, "cfl");
  expect_refused(solve({"dt=.inf"}), 2, "dt");
  expect_refused(solve({"nonsense"}), 2, "nonsense");
  expect_refused(solve({"points=4000000", "viscosity=1"}), 2, "internal steps");
  const std::vector<std::string> files{"--input", input_, "--output", output_};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), files.begin(), files.end());
    return run(words);
  };
  expect_refused(with({"burger", "--steps", "1"}), 2, "did you mean 'burgers'?");
  expect_refused(with({"burgers", "--steps", "0"}), 2, "--steps");
  expect_refused(with({"burgers", "--steps", "-3"}), 2, "--steps");
  expect_refused(with({"burgers"}), 2, "--steps");
  expect_refused(run({"burgers", "--steps", "1", "--output", output_}), 2, "--input");
}

TEST_F(Solve, BadInputIsExitCode3) {
  const auto with = [&](const std::string& name) {
    return run({"burgers", "--input", name, "--output", output_, "--steps", "1", "points=128"});
  };
  const std::string whole = content(input_);
  const std::string text = folder_.file("text.h5", "no HDF5");
  const std::string cut = folder_.file("cut.h5", whole.substr(0, whole.size() / 2));
  // The bytes that say where the file ends: HDF5 cannot even close what it has opened.
  std::string broken_bytes = whole;
  for (std::size_t i = 100; i < 112; ++i) broken_bytes[i] = '\xff';
  const std::string broken = folder_.file("broken.h5", broken_bytes);
  const std::string other = folder_.path("other.h5"), empty = folder_.path("empty.h5");
  H5File(other).dataset("values", {3, 1, 128}, {});
  H5File(empty).dataset("states", {0, 1, 128}, {});
  entries_ = 6;

  expect_refused(with(folder_.path("missing.h5")), 3, "no such file");
  expect_refused(with(text), 3, "HDF5");
  expect_refused(with(cut), 3, "cut.h5");
  expect_refused(with(broken), 3, "broken.h5");
  EXPECT_FALSE(contains(with(broken).err, "infinite loop"));
  expect_refused(with(other), 3, "it has: values");
  expect_refused(with(empty), 3, "at least one state");
  expect_refused(solve({"points=64"}), 3, "3 x 1 x 128, expected B x 1 x 64");
}

// By whatever name; and nobody's notes either.
TEST_F(Solve, AnOutputDoesNotReplaceItsInputOrAnotherKindOfFile) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_.path("sub"));
  fs::create_symlink(input_, folder_.path("link.h5"));
  fs::create_hard_link(input_, folder_.path("hard.h5"));
  const std::string notes = folder_.file("notes.h5", "my notes"), before = content(input_);
  entries_ = folder_.entries();
  const auto with = [&](const std::string& in, const std::string& out) {
    return run({"burgers", "--input", in, "--output", out, "--steps", "1", "points=128"});
  };

  for (const std::string& name :
       {input_, folder_.path("sub/../in.h5"), folder_.path("link.h5"), folder_.path("hard.h5")}) {
    expect_refused(with(input_, name), 2, input_);
    expect_refused(with(name, input_), 2, input_);
  }
  expect_refused(with(input_, notes), 2, "is not a file of 'stap solve'");

  EXPECT_EQ(content(input_), before);
  EXPECT_EQ(content(notes), "my notes");
}

TEST_F(Solve, UnwritableOutputIsExitCode6) {
  const auto with = [&](const std::string& name) {
    return run({"burgers", "--input", input_, "--output", name, "--steps", "1", "points=128"});
  };

  expect_refused(with(folder_.path("no/out.h5")), 6, "no folder");
  expect_refused(with(folder_.path().string()), 6, "not a file");
  expect_refused(with("/dev/full"), 6, "not a file");
  expect_refused(with("/proc/out.h5"), 6, "/proc/out.h5");
}

// More than the disk has: refused before anything is computed or written.
TEST_F(Solve, TooLargeOutputIsExitCode6) {
  expect_refused(run({"burgers", "--input", input_, "--output", output_, "--steps", "100000000000",
                      "points=128"}),
                 6, "bytes are free");
}

// A full disk (here: a limit on the size of files, 32 x 1024 bytes) while the output is begun.
TEST_F(Solve, FullDiskIsExitCode6AndNothingIsLeft) {
  const Finished result = run_process(
      {"/bin/bash", "-c", "trap '' XFSZ; ulimit -f 32; exec \"$0\" \"$@\"", STAP_TEST_PROGRAM,
       "solve", "burgers", "--input", input_, "--output", output_, "--steps", "50", "points=128"});

  expect_refused(result, 6, "out.h5");
}

// Ctrl-C in the middle: the program ends by that signal and leaves nothing behind.
TEST_F(Solve, InterruptedLeavesNothingBehind) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Many seconds of work, far more than this test waits.
    execl(STAP_TEST_PROGRAM, "stap", "solve", "burgers", "--quiet", "--input", input_.c_str(),
          "--output", output_.c_str(), "--steps", "4000", "points=128", "dt=10", nullptr);
    _exit(127);
  }
  // It is at work as soon as its temporary file is there.
  for (int i = 0; i < 2000 && folder_.entries() == 1; ++i) usleep(1000);
  usleep(50000);
  kill(child, SIGINT);
  const int status = test::wait_for(child);

  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_EQ(folder_.entries(), 1u);
}

}  // namespace
}  // namespace stap::test
