// Signs of life in a spool folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stap/config/value.h"

namespace stap {

/// A name for a process that no other has: its machine, its number and some digits.
std::string process_name();

/// How often somebody must say that he lives who is given up after so many seconds of silence.
std::chrono::duration<double> beat_of(double silence);

/// Writes the next sign of life of this process: `facts` and who it is, in place (a file that is
/// replaced can look the same to another machine for a minute). Gives 0, or the errno of what could
/// not be written.
int beat(const std::filesystem::path& file, std::uint64_t number, config::Value facts,
         bool may_make);
/// What a file of signs holds; empty if it is not there.
std::string sign_in(const std::filesystem::path& file);

/// The signs of a server.
class OwnSign {
 public:
  /// Throws Error(storage) if the first one cannot be written, or none could for so many seconds:
  /// the folder has gone, or is not ours to write in. A full disk is waited for.
  void give(const std::filesystem::path& file, config::Value facts, double silence);

 private:
  std::uint64_t number_ = 0;
  std::optional<std::chrono::steady_clock::time_point> written_{};
};

/// Tells by our own clock alone who has stopped, since those of machines differ.
class Signs {
 public:
  using Clock = std::chrono::steady_clock;

  /// What the file of `name` holds now.
  void see(const std::string& name, const std::string& text, Clock::time_point now);
  /// No new sign for so long, or it was a process of this machine that is not there any more.
  bool stopped(const std::string& name, Clock::duration silence, Clock::time_point now);
  /// A second sign was seen, so somebody lives.
  bool moved(const std::string& name) const;
  /// What it said last; null if that is not what beat() writes.
  config::Value facts(const std::string& name) const;
  void forget(const std::string& name) { seen_.erase(name); }
  std::vector<std::string> all_stopped(Clock::duration silence, Clock::time_point now);
  std::size_t slots_of_living(Clock::duration silence, Clock::time_point now);

 private:
  struct Sign {
    std::string text;
    Clock::time_point since;
    bool moved = false;
  };
  std::map<std::string, Sign> seen_;
};

}  // namespace stap
