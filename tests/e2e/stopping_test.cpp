// Signals to `stap run` while programs of the user's own run.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include "stap/folder/run_folder.h"
#include "support/contains.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/processes.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

class StoppingProgram : public ::testing::Test {
 protected:
  // A solver that changes nothing, but not before there is a file "go"; every call leaves a file
  // begun/PROCESS.
  StoppingProgram() {
    fs::create_directory(folder_.path("begun"));
    folder_.file("solver.sh",
                 "touch \"$3/begun/$$\"\n"
                 "while [ ! -e \"$3/go\" ]; do sleep 0.02; done\n"
                 "cp \"$1\" \"$2\"\n");
    folder_.file("study.yaml", R"(
pde: {name: external, label: still, channels: [h], points: [16], dt: 0.1}
solver: {name: command, argv: [sh, "{here}/solver.sh", "{input}", "{output}", "{here}"], slots: 2}
initial: {name: sines, warm_up: 0}
network: {modes: [4], width: 4, lifting: 8, projection: 8, layers: 1}
train: {epochs: 2}
study: {steps: 3, pool: 20, test: 0, initial: 3, rounds: 1, budget: 4}
method: random
)");
  }

  std::vector<std::string> begun() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path("begun")))
      names.push_back(entry.path().filename().string());
    return names;
  }
  // Starts a run and waits until both slots are at work.
  pid_t start(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"run", folder_.path("study.yaml"), "--out", folder_.path("run")};
    words.insert(words.end(), more.begin(), more.end());
    const pid_t child = start_stap(words);
    EXPECT_TRUE(eventually([&] { return begun().size() == 2; }));
    return child;
  }
  static int signal_of(pid_t child) {
    const int status = test::wait_for(child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  std::size_t answers() const {
    std::size_t count = 0;
    RunFolder(folder_.path("run")).read_answers([&](std::size_t, const AnswerRecord&) { ++count; });
    return count;
  }
  // Nothing of a call is left.
  void expect_gone() const {
    for (const std::string& process : begun()) EXPECT_NE(kill(std::stoi(process), 0), 0) << process;
  }

  TemporaryFolder folder_;
};

// Broken by: a call that is ended or forgotten although it was under way.
TEST_F(StoppingProgram, CtrlCWaitsForWhatRuns) {
  const pid_t child = start();

  kill(child, SIGINT);
  folder_.file("go", "");

  EXPECT_EQ(signal_of(child), SIGINT);
  EXPECT_EQ(answers(), begun().size());
  EXPECT_GE(answers(), 2u);
  const Finished rest = run_stap({"run", folder_.path("study.yaml"), "--out", folder_.path("run")});
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(answers(), begun().size());  // each was made once
  EXPECT_EQ(answers(), 3u * 3 + 4);
}

TEST_F(StoppingProgram, TheSecondOneEndsIt) {
  const pid_t child = start();

  kill(child, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);  // it waits
  kill(child, SIGINT);

  EXPECT_EQ(signal_of(child), SIGINT);
  EXPECT_EQ(answers(), 0u);
  expect_gone();
}

TEST_F(StoppingProgram, SigtermDoesNotWait) {
  const pid_t child = start();

  kill(child, SIGTERM);

  EXPECT_EQ(signal_of(child), SIGTERM);
  EXPECT_EQ(answers(), 0u);
  expect_gone();
}

// Slurm says when the job ends; where it does not, or nonsense, SIGUSR1 leaves so many seconds.
// Broken by: a signal that ends the program, a query that outlives the end, is charged or is lost.
TEST_F(StoppingProgram, WhatDoesNotEndInTimeIsGivenBack) {
  const std::string soon = std::to_string(std::time(nullptr) + 5);
  for (const auto& [end, notice] : {std::pair(soon, "1000"), {std::string("12"), "0.5"}}) {
    const ScopedVariable job("SLURM_JOB_END_TIME", end);
    const pid_t child = start({"--notice", notice});

    kill(child, SIGUSR1);

    const int status = test::wait_for(child);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 8) << notice;
    EXPECT_EQ(answers(), 0u);
    expect_gone();
    const Finished queue = run_stap({"queue", folder_.path("run")});
    EXPECT_TRUE(contains(queue.out, "run: stopped, round 0 of 1")) << queue.out;
    for (const std::string& process : begun()) fs::remove(folder_.path("begun/" + process));
  }
  folder_.file("go", "");

  const Finished rest = run_stap({"run", folder_.path("study.yaml"), "--out", folder_.path("run")});

  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(answers(), 3u * 3 + 4);
  EXPECT_EQ(begun().size(), answers());
}

TEST_F(StoppingProgram, ANoticeEndsNothingThatHasTheTime) {
  const Finished early = run_stap({"queue", folder_.path("run")});
  const pid_t child = start({"--notice", "600"});

  kill(child, SIGUSR1);
  const Finished queue = run_stap({"queue", folder_.path("run"), "--json"});
  folder_.file("go", "");

  const int status = test::wait_for(child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(answers(), 3u * 3 + 4);
  EXPECT_EQ(early.exit_code, 3);
  EXPECT_TRUE(contains(early.err, "there is no run in")) << early.err;
  EXPECT_EQ(queue.exit_code, 0) << queue.err;
  EXPECT_TRUE(contains(queue.out, "\"where\": \"slot 1, ")) << queue.out;
  EXPECT_TRUE(contains(queue.out, "\"alive\": true")) << queue.out;
}

// Broken by: a folder that says nothing, or that its own status makes another's.
TEST_F(StoppingProgram, MakingATestSetIsToldAndLeavesARunToBegin) {
  const ScopedVariable cache("STAP_CACHE", folder_.path("cache"));
  const auto queue = [&] { return run_stap({"queue", folder_.path("run")}).out; };
  const pid_t child = start({"study.test=2"});

  EXPECT_TRUE(eventually([&] { return !queue().empty(); }));  // the solver may be first
  const std::string alive = queue();
  kill(child, SIGKILL);
  EXPECT_EQ(signal_of(child), SIGKILL);
  const std::string gone = queue();
  folder_.file("go", "");
  const Finished rest =
      run_stap({"run", folder_.path("study.yaml"), "study.test=2", "--out", folder_.path("run")});

  EXPECT_TRUE(contains(alive, "run: making pool and test set (process ")) << alive;
  EXPECT_TRUE(contains(alive, ": 0 of 6 solver steps")) << alive;
  EXPECT_TRUE(contains(gone, " is gone; the same command continues")) << gone;
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(contains(queue(), "run: finished, round 1 of 1")) << queue();
}

// Where networks are trained the solver is not started, and need not be there; what it makes, its
// test set included, is bought before.
TEST_F(StoppingProgram, NetworksAreTrainedWithoutTheSolver) {
  const ScopedVariable cache("STAP_CACHE", folder_.path("cache"));
  folder_.file("go", "");
  const auto part = [&](const char* until, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"run",   folder_.path("study.yaml"), "study.test=2",
                                   "--out", folder_.path("run"),        "--until",
                                   until};
    words.insert(words.end(), more.begin(), more.end());
    return run_stap(words);
  };
  const std::vector<std::string> none{"solver.argv=[no-such-program]"};

  const Finished early = part("trained", none);
  EXPECT_EQ(early.exit_code, 9) << early.err;
  EXPECT_TRUE(contains(early.err, "have no pool or test set yet")) << early.err;
  EXPECT_FALSE(fs::exists(folder_.path("run")));
  EXPECT_EQ(part("bought", {"--device", "cuda"}).exit_code, 9);
  const std::size_t calls = begun().size();
  const Finished trained = part("trained", none);
  EXPECT_EQ(trained.exit_code, 9) << trained.err;
  EXPECT_EQ(begun().size(), calls);
  EXPECT_TRUE(fs::exists(folder_.path("run/rounds/00/plan.json")));
  EXPECT_EQ(part("bought").exit_code, 9);
  EXPECT_EQ(part("trained", none).exit_code, 0);
  EXPECT_EQ(answers(), 3u * 3 + 4);
}

}  // namespace
}  // namespace stap::test
