#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stap/folder/run_records.h"

// How the runs of a folder are doing now, by their files. Nothing is written, so that a run never
// notices who looks, and nothing is waited for.
namespace stap {

struct LiveRun {
  /// ended: as its last status says, or by a process that is gone (dead). silent: of another
  /// machine, without a sign of life for half a minute.
  enum class State { not_begun, working, silent, ended, dead, damaged };

  std::string name;  ///< in the sweep; of a run by itself its folder
  State state = State::not_begun;
  std::string words{};            ///< what it does, for people: "training, round 2 of 5"
  RunStatus status{};             ///< empty phase: there is none yet
  std::vector<Timing> timings{};  ///< of rounds so far
  std::optional<double> seconds_left{};
  std::optional<double> phase_seconds_left{};  ///< of the phase under way, by its pace

  bool works() const { return state == State::working || state == State::silent; }
};

struct LiveFolder {
  std::vector<LiveRun> runs{};
  std::string error{};  ///< why there are none: the folder is gone or damaged
  bool ended = false;   ///< something was begun, and nobody works here any more
};

/// Reads status, timings and locks. `now`: seconds since 1970. Never throws Error: what cannot be
/// read is said in the words of a run or in `error`.
LiveFolder look_at_live(const std::filesystem::path& folder, double now);

/// Fills in what is left for the process of each run that works: runs of one process work side by
/// side and end together. Empty where something must be done that was never timed.
void estimate_time_left(std::span<LiveRun> runs, double now);

/// Of all that the runs are to do, by their rounds and phases, 0 to 1. A run whose data are damaged
/// counts as one that has not begun.
double share_done(std::span<const LiveRun> runs);
/// Until the last of them ends; empty: not known of one that works.
std::optional<double> seconds_left(std::span<const LiveRun> runs);

/// Times and sizes of all files from which a page is made, as text: another one means another page.
std::string files_seen(const std::filesystem::path& folder);

}  // namespace stap
