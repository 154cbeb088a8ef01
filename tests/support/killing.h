// Kills real processes at random moments.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "stap/core/rng.h"
#include "support/process.h"

namespace stap::test {

/// How often to kill: as often as STAP_TEST_KILLS says (`make test-long`), else what takes seconds.
inline int kills_wanted(int usual) {
  const char* wanted = std::getenv("STAP_TEST_KILLS");
  return wanted != nullptr ? std::stoi(wanted) : usual;
}

/// Runs stap with command("first"), which fills the cache, and command("whole"); then kills runs
/// "killed0", ... at random moments of the time that "whole" took, each started again until it gets
/// through, until there were `kills` kills. essence(name) must be that of "whole" for all of them.
inline void expect_kills_change_nothing(
    int kills, const std::function<std::vector<std::string>(const std::string& name)>& command,
    const std::function<std::string(const std::string& name)>& essence) {
  ASSERT_EQ(run_stap(command("first")).exit_code, 0);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run_stap(command("whole")).exit_code, 0);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
  const std::string expected = essence("whole");
  const Rng rng(2024);
  int killed = 0;
  std::uint64_t starts = 0;
  for (int attempt = 0; killed < kills; ++attempt) {
    ASSERT_LT(attempt, 10 * kills + 200) << "the runs are over before they can be killed";
    const std::string name = "killed" + std::to_string(attempt);
    for (bool finished = false; !finished;) {
      const pid_t child = start_stap(command(name));
      if (killed < kills) {
        std::this_thread::sleep_for(whole * rng.uniform(starts++));
        kill(child, SIGKILL);
      }
      const int status = wait_for(child);
      finished = WIFEXITED(status);
      ASSERT_TRUE(!finished || WEXITSTATUS(status) == 0);
      killed += finished ? 0 : 1;
    }
    EXPECT_EQ(essence(name), expected) << name;
  }
}

}  // namespace stap::test
