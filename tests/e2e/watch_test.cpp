// `stap watch` beside runs that work, stop and die.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "support/contains.h"
#include "support/process.h"
#include "support/processes.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

// Every file below a folder with its bytes, but for the report.
std::string all_bytes(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename() != "report.html")
      files.push_back(entry.path().string() +
                      (entry.is_regular_file() ? "\n" + content(entry.path()) : ""));
  std::ranges::sort(files);
  std::string bytes;
  for (const std::string& file : files) bytes += file + "\n";
  return bytes;
}

class WatchProgram : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const pid_t child : {watch_, run_})
      if (child > 0 && kill(child, SIGKILL) == 0) wait_for(child);
  }

  void watch(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{STAP_TEST_PROGRAM, "watch", folder_.path("run")};
    words.insert(words.end(), more.begin(), more.end());
    watch_ = fork();
    if (watch_ == 0) {
      const int file = open(folder_.path("said").c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(file, STDOUT_FILENO);
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
  }
  std::string said() const { return content(folder_.path("said")); }
  bool says(const std::string& text) const {
    return eventually([&] { return contains(said(), text); }, 30);
  }
  bool page_reloads() const {
    return contains(content(folder_.path("run/report.html")), "http-equiv=\"refresh\"");
  }
  int end_of_watch() {
    const int status = wait_for(std::exchange(watch_, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void kill_run() {
    kill(run_, SIGKILL);
    wait_for(std::exchange(run_, 0));
  }
  // Of a run whose solver waits for a file "go".
  void write_study(const std::string& test) const {
    folder_.file("solver.sh",
                 "touch \"$3/begun.$$\"\nwhile [ ! -e \"$3/go\" ]; do sleep 0.02; done\n"
                 "cp \"$1\" \"$2\"\n");
    folder_.file("study.yaml", R"(
pde: {name: external, label: still, channels: [h], points: [16], dt: 0.1}
solver: {name: command, argv: [sh, "{here}/solver.sh", "{input}", "{output}", "{here}"], slots: 2}
initial: {name: sines, warm_up: 0}
network: {modes: [4], width: 4, lifting: 8, projection: 8, layers: 1}
train: {epochs: 2}
study: {steps: 3, pool: 20, test: )" +
                                   test + R"(, initial: 3, rounds: 1, budget: 4}
method: random
)");
  }
  // With both of its slots at work.
  void start_run() {
    write_study("0");
    run_ = start_stap({"run", folder_.path("study.yaml"), "--out", folder_.path("run")});
    const auto at_work = [&] {
      return fs::exists(folder_.path("run/status.json")) &&
             content(folder_.path("run/status.json")).find("slot 1") != std::string::npos;
    };
    ASSERT_TRUE(eventually(at_work, 30));
  }

  TemporaryFolder folder_;
  pid_t watch_ = 0, run_ = 0;
};

TEST_F(WatchProgram, WaitsForARunShowsItAndEndsWithIt) {
  const Finished nothing = run_stap({"watch", folder_.path("run")});
  watch({"--wait"});
  start_run();

  const bool shown = says("buying the initial trajectories, round 0 of 1 (process ");
  const bool reloads = eventually([&] { return page_reloads(); }, 30);
  folder_.file("go", "");
  const int ended = end_of_watch();
  wait_for(std::exchange(run_, 0));

  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_TRUE(contains(nothing.err, "--wait"));
  EXPECT_TRUE(shown && reloads) << said();
  EXPECT_TRUE(contains(said(), ": 0 of 9 solver steps, ")) << said();
  EXPECT_TRUE(contains(said(), " open queries (2 running)")) << said();
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(contains(said(), "finished, round 1 of 1")) << said();
  EXPECT_TRUE(
      said().ends_with("all runs have ended; report: " + folder_.path("run/report.html") + "\n"))
      << said();
  EXPECT_FALSE(page_reloads());
  EXPECT_TRUE(contains(content(folder_.path("run/report.html")),
                       "All runs have ended; this page no longer updates."));
}

// The solver waits for a file "go" while the test set is made, when a run has no other file yet.
TEST_F(WatchProgram, SaysThatPoolAndTestSetAreMade) {
  setenv("STAP_CACHE", folder_.path("cache").c_str(), 1);
  write_study("2");
  run_ = start_stap({"run", folder_.path("study.yaml"), "--out", folder_.path("run")});
  unsetenv("STAP_CACHE");
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_.path("run/status.json")); }, 30));

  watch();
  const bool shown = says("making pool and test set (process ");
  kill_run();

  EXPECT_TRUE(shown) << said();
  EXPECT_EQ(end_of_watch(), 0);
  // Mutation: a report is promised that nobody can make.
  EXPECT_TRUE(contains(said(), "all runs have ended; no report: ")) << said();
  EXPECT_FALSE(fs::exists(folder_.path("run/report.html")));
}

TEST_F(WatchProgram, SaysThatAFolderIsGoneAndThatItIsBack) {
  start_run();
  watch();
  const bool before = says("buying");

  fs::rename(folder_.path("run"), folder_.path("moved"));
  const bool gone = says("config.yaml");
  fs::rename(folder_.path("moved"), folder_.path("run"));
  const bool back =
      eventually([&] { return contains(said().substr(said().find("config.yaml")), "1 of 1 run"); });
  kill_run();

  EXPECT_TRUE(before && gone && back) << said();
  EXPECT_EQ(end_of_watch(), 0);
  EXPECT_TRUE(contains(said(), "is gone; the same command continues")) << said();
}

TEST_F(WatchProgram, WritesNothingButTheReportAndThatOnlyIfItChanges) {
  start_run();
  kill_run();
  const std::string before = all_bytes(folder_.path("run"));
  const std::string report = folder_.path("run/report.html");

  watch();
  const int first = end_of_watch();
  fs::create_hard_link(report, folder_.path("same"));
  watch();
  const int second = end_of_watch();

  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 0);
  EXPECT_TRUE(contains(said(), "is gone; the same command continues"));
  EXPECT_EQ(all_bytes(folder_.path("run")), before);
  EXPECT_TRUE(fs::equivalent(report, folder_.path("same")));
}

TEST_F(WatchProgram, CtrlCEndsItAndNotTheRun) {
  start_run();
  watch();
  const bool shown = says("buying");

  kill(watch_, SIGINT);

  EXPECT_TRUE(shown);
  EXPECT_EQ(end_of_watch(), 128 + SIGINT);
  EXPECT_EQ(waitpid(run_, nullptr, WNOHANG), 0);
}

TEST_F(WatchProgram, KeepsAReportThatIsNotOurs) {
  fs::create_directory(folder_.path("run"));
  folder_.file("run/report.html", "<html>mine</html>");

  const Finished result = run_stap({"watch", folder_.path("run")});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "is no report of stap")) << result.err;
}

}  // namespace
}  // namespace stap::test
