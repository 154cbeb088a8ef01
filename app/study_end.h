#pragma once

#include <iosfwd>
#include <string>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/run/sweep.h"

namespace stap::app {

/// Throws Error(config) for a time that is none.
TimeLimit time_limit(const TimeLimitOptions& options);

/// What was to be done, for messages about its end.
struct Task {
  std::string folder;
  std::string command;  ///< that goes on with it
  Share share{};
  /// Where it is set the end has a report: the options to analyse with.
  const Globals* report = nullptr;
};

/// Says how the loop over the runs of a folder has ended: with their tables and the place of their
/// report, with questions that wait, or before the end, which ends the program by the signal that
/// asked for it or throws EndWith.
void report_end(LoopEnd end, const Task& task, const ByHand& by_hand,
                const InterruptGuard& interrupt, Console& console, std::ostream& out);

/// Says that a command was stopped in time, and throws EndWith.
[[noreturn]] void end_in_time(const std::string& folder, const std::string& command,
                              Console& console);

}  // namespace stap::app
