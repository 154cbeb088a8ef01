// Training the members of many runs in one engine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/account.h"
#include "stap/core/stop.h"
#include "stap/nn/engine.h"
#include "stap/run/run.h"

namespace stap {

/// The runs of one network shape and their engine; run r has members r * M .. (r + 1) * M - 1.
struct Group {
  std::vector<Run*> runs;
  int members = 0;  ///< M of each
  int threads = 0;
  std::unique_ptr<Engine> made{};  ///< when there is something to compute

  Engine& engine();
  int first_member(std::size_t r) const { return static_cast<int>(r) * members; }
};
std::vector<Group> make_groups(std::span<Run> runs, int threads);

/// The committee of one run, its weights in the engine. It stops when `stop` says so.
std::unique_ptr<Committee> committee_of(Group& group, std::size_t r, const StopAsked& stop);

/// "round 3 of 10".
std::string round_text(const Run& run);

/// Trains every run of the group that waits for it, checkpoint by checkpoint. Runs that differ in
/// nothing that counts before the first purchase share the training of round 0. Throws Stopped when
/// `stop` says so, having saved what is trained.
void fit(Group& group, Account& account, const StopAsked& stop);

}  // namespace stap
