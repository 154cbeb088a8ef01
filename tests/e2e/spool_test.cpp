// `stap serve`, `stap-serve` and a run by way of a folder that was changed, or is another's.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/process.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

const std::string kServe = std::string(STAP_TEST_PROGRAM) + "-serve";

class SpoolProgram : public ::testing::Test {
 protected:
  ~SpoolProgram() override {
    umask(mask_);
    unsetenv("STAP_CACHE");
    if (run_ > 0) end(run_, SIGKILL);
    if (server_ > 0) end(server_, SIGTERM);
  }

  static int end(pid_t& process, int with) {
    kill(process, with);
    return test::wait_for(std::exchange(process, 0));
  }
  std::string spool(const std::string& name) const { return folder_.path(name + "-spool"); }
  // Starts a study whose solver adds 2, with nothing in the cache, and waits until it asks.
  void start_run(const std::string& name) {
    setenv("STAP_CACHE", folder_.path(name + "-cache").c_str(), 1);
    const std::string study = folder_.file(name + ".yaml", R"(
pde: {name: external, label: steps, channels: [u], points: [16], lengths: [1], dt: 0.1}
solver:
  name: command
  argv: [)" + std::string(STAP_TEST_PROGRAMS) + R"(/spool_step, "{input}", "{output}", "0", )" +
                                                               folder_.path("calls") + R"(, "2"]
  spool: )" + spool(name) + R"(
  limits: {server: 1}
initial: {name: sines, terms: 3}
network: {modes: [4], width: 4, layers: 1, lifting: 4, projection: 4}
train: {epochs: 2}
study: {steps: 3, pool: 12, test: 2, initial: 2, rounds: 1, budget: 6}
method: sbal+stap
)");
    run_ = start_stap({"run", study, "--quiet", "--no-report", "--out", folder_.path(name)});
    ASSERT_TRUE(eventually([&] {
      std::error_code none;
      return !fs::is_empty(spool(name) + "/queries", none) && !none;
    }));
  }
  void start_server(const std::string& name) { server_ = start_stap({"serve", spool(name)}); }
  // The exit code of the run.
  int wait_for_run() {
    const int status = test::wait_for(std::exchange(run_, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // What was bought and learnt.
  std::string outcome(const std::string& name) const {
    std::string bytes;
    for (const char* file : {"transitions.h5", "extracts.h5", "metrics.jsonl"}) {
      const std::string one = content(folder_.path(name + "/" + file));
      EXPECT_NE(one, "") << file;
      bytes += one;
    }
    return bytes;
  }
  // Both programs refuse it so, and start nothing.
  void expect_refused(const std::string& name, int code, const std::string& why) const {
    for (const std::vector<std::string>& program :
         {std::vector<std::string>{STAP_TEST_PROGRAM, "serve"}, {kServe}}) {
      std::vector<std::string> command = program;
      command.insert(command.end(), {spool(name), "--idle", "1s"});
      const Finished result = run_process(command);
      EXPECT_EQ(result.exit_code, code) << result.err;
      EXPECT_TRUE(contains(result.err, why)) << result.err;
    }
    EXPECT_FALSE(fs::exists(folder_.path("calls")));
  }

  TemporaryFolder folder_;
  pid_t run_ = 0, server_ = 0;
  mode_t mask_ = umask(0);  // the run's folder is our own all the same
};

// Broken by a problem without a seal: the run then ended with exit code 0 and other data.
TEST_F(SpoolProgram, AChangedArgumentNeverGivesOtherData) {
  start_run("whole");
  start_server("whole");
  ASSERT_EQ(wait_for_run(), 0);
  end(server_, SIGTERM);

  start_run("changed");
  const fs::path file = fs::directory_iterator(spool("changed") + "/problems")->path();
  const std::size_t place = content(file).find("\"2\"");
  ASSERT_NE(place, std::string::npos);
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(place) + 1)
      .put('3');
  start_server("changed");

  EXPECT_EQ(wait_for_run(), 0);
  EXPECT_EQ(outcome("changed"), outcome("whole"));
}

TEST_F(SpoolProgram, WhatOthersMayWriteInIsServedOnlyIfItIsTrusted) {
  start_run("a");
  fs::permissions(spool("a") + "/problems", fs::perms::group_write, fs::perm_options::add);

  expect_refused("a", 2, "chmod go-w");

  server_ = start_stap({"serve", spool("a"), "--trust-folder"});
  EXPECT_EQ(wait_for_run(), 0);
}

TEST_F(SpoolProgram, NeedsRootToServeAnothersFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  start_run("a");
  ASSERT_EQ(chown(spool("a").c_str(), 65534, 65534), 0);

  expect_refused("a", 2, "belongs to user 65534, and you are user 0");

  server_ = start_stap({"serve", spool("a"), "--trust-folder"});
  EXPECT_EQ(wait_for_run(), 0);
}

TEST_F(SpoolProgram, AFolderOfAnEarlierVersionIsRefused) {
  fs::create_directory(spool("a"));
  fs::permissions(spool("a"), fs::perms::group_write | fs::perms::others_write,
                  fs::perm_options::remove);
  umask(mask_);
  folder_.file("a-spool/spool.json", "{\n \"format\": \"spool/1\"\n}\n");

  expect_refused("a", 3, "has the format spool/1, expected spool/2: an earlier version");
  const Finished run = run_stap({"run",
                                 folder_.file("a.yaml", R"(
pde: {name: external, label: steps, channels: [u], points: [16], lengths: [1], dt: 0.1}
solver: {name: command, argv: [cp, "{input}", "{output}"], spool: )" +
                                                            spool("a") + R"(}
initial: {name: sines, terms: 3}
study: {steps: 3, pool: 12, test: 2, initial: 2, rounds: 1, budget: 6}
method: random
)"),
                                 "--quiet", "--out", folder_.path("a")});
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_TRUE(contains(run.err, "give solver.spool a new folder")) << run.err;
}

}  // namespace
}  // namespace stap::test
