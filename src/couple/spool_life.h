// Signs of life in a spool folder: who serves there, and who asks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "couple/spool_folder.h"
#include "stap/config/value.h"

namespace stap {

/// A name for a process that no other has: its machine, its number and some digits.
std::string process_name();

/// How often somebody must say that he lives who is given up after so many seconds of silence.
std::chrono::duration<double> beat_of(double silence);

/// Writes the next sign of life of this process: `facts` and who it is, in place (a file that is
/// replaced can look the same to another machine for a minute). What cannot be written is left out.
void beat(const std::filesystem::path& file, std::uint64_t number, config::Value facts,
          bool may_make);

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

/// The place of the one process that asks in a folder. A thread gives signs of life, since whoever
/// asks may be busy with other things for hours, and looks at those of the servers.
class Seat {
 public:
  Seat(SpoolFolder folder, double silence);
  ~Seat();
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  /// True once it is ours; asked again and again, since it takes time to see whether another lives.
  /// Throws Error(storage) if one does, or has taken it over because we were silent for too long.
  bool taken();
  const std::string& name() const { return name_; }
  /// As Signs says of servers.
  bool stopped(const std::string& server);
  std::vector<std::string> all_stopped();
  /// Of all servers that live.
  std::size_t slots();
  /// What a server that stopped has left goes.
  void forget(const std::string& server);

 private:
  void take(std::uint64_t number);
  void live();
  std::filesystem::path file(std::uint64_t number) const;
  std::uint64_t highest() const;

  SpoolFolder folder_;
  Signs::Clock::duration silence_;
  double beat_;
  std::string name_;
  Signs askers_;              // before it is ours
  std::uint64_t number_ = 0;  // 0: not ours
  std::mutex mutex_;
  Signs servers_;
  bool lost_ = false, ending_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace stap
