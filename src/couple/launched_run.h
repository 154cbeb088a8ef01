// A short program behind a launcher, for launch_probe.cpp.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couple/connection.h"
#include "couple/process.h"
#include "stap/core/stop.h"

namespace stap {

/// One program: what it printed so far, and how it ended.
class LaunchedRun {
 public:
  using Clock = std::chrono::steady_clock;
  struct What {
    std::vector<std::string> words;  ///< as execvp takes them
    std::vector<std::string> env{};  ///< added to ours
    std::filesystem::path log{};     ///< gets its stderr
    bool talks = false;              ///< its stdin is ours to write, as that of a worker; else none
    double grace = 10.0;             ///< seconds
  };

  explicit LaunchedRun(What what);

  const std::string& printed() const { return printed_; }
  std::optional<Ending> ended() { return process_.ended(); }
  void end() { process_.end(); }
  /// Sends as much as goes now; how many bytes that was.
  std::size_t send(std::string_view bytes) const;
  void close_stdin() const;
  /// The last of what it or its launcher said on stderr.
  std::string words() const;

  /// Waits until `done` says so (true), or all of them have ended, or then. Throws Stopped.
  static bool wait(const std::vector<LaunchedRun*>& runs, Clock::time_point until,
                   const std::function<bool()>& done, const StopAsked& stop);

 private:
  LaunchedRun(const What& what, std::pair<Descriptor, Descriptor> ends);
  void read();

  std::filesystem::path log_;
  Descriptor socket_;
  Process process_;
  std::string printed_;
  bool open_ = true;  // it may still print
};

}  // namespace stap
