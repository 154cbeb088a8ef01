// Kills real processes at random moments.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "stap/core/rng.h"
#include "support/process.h"

namespace stap::test {

/// Runs stap with command("killed0"), kills it at a random moment of a run that takes `whole`, and
/// starts it again until it gets through; then goes on with "killed1", ..., until there were
/// `kills` kills. check(name) is called after each that got through.
inline void kill_and_continue(
    int kills, std::chrono::duration<double> whole,
    const std::function<std::vector<std::string>(const std::string& name)>& command,
    const std::function<void(const std::string& name)>& check) {
  const Rng rng(2024);
  int killed = 0;
  std::uint64_t starts = 0;
  for (int attempt = 0; killed < kills; ++attempt) {
    ASSERT_LT(attempt, 200) << "the runs are over before they can be killed";
    const std::string name = "killed" + std::to_string(attempt);
    for (bool finished = false; !finished;) {
      const pid_t child = start_stap(command(name));
      if (killed < kills) {
        std::this_thread::sleep_for(whole * rng.uniform(starts++));
        kill(child, SIGKILL);
      }
      int status = 0;
      waitpid(child, &status, 0);
      finished = WIFEXITED(status);
      ASSERT_TRUE(!finished || WEXITSTATUS(status) == 0);
      killed += finished ? 0 : 1;
    }
    check(name);
  }
}

}  // namespace stap::test
