// Who asks in a spool folder: one process at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "couple/spool_folder.h"
#include "couple/spool_life.h"

namespace stap {

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
  bool is_another_ones() const;

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
