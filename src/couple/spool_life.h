// Who lives in a spool folder: the one process that asks, and servers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lease.h"
#include "core/signs.h"
#include "couple/spool_folder.h"

namespace stap {

/// The signs of a server.
class ServerSigns {
 public:
  explicit ServerSigns(double silence) : signer_(silence) {}
  const std::string& name() const { return signer_.name(); }
  /// Gives one, with members of JSON. Throws Error(storage) if the first one cannot be written, or
  /// none could for so many seconds: the folder has gone, or is not ours to write in. A full disk
  /// is waited for.
  void give(const std::filesystem::path& file, std::string_view facts, double silence);

 private:
  Signer signer_;
  std::optional<Signs::Clock::time_point> written_;
};

/// The right to ask in a folder, which one process has at a time, and what whoever has it sees of
/// the servers.
class AskRight {
 public:
  AskRight(SpoolFolder folder, double silence);

  /// True once it is ours; asked again and again, since it takes time to see whether another lives.
  /// Throws Error(storage) if one does, or has taken it over because we were silent for too long.
  bool ours();
  /// Of who asks, once it is ours.
  const std::string& name() const { return lease_->name(); }
  /// As Signs says of servers.
  bool stopped(const std::string& server);
  std::vector<std::string> all_stopped();
  /// Of all servers that live.
  std::size_t slots();
  /// What a server that stopped has left goes.
  void forget(const std::string& server);

 private:
  std::uint64_t highest() const;
  void look_at_servers();

  SpoolFolder folder_;
  double silence_;
  std::unique_ptr<Lease> lease_;
  std::mutex mutex_;
  Signs servers_;
  std::optional<Repeated> watch_;  // also while whoever asks is busy with other things
};

}  // namespace stap
