// Which of the queries that wait in a spool folder a server tries to fetch.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "couple/spool_folder.h"
#include "stap/core/rng.h"

namespace stap {

/// Picks at random, so that servers do not all want the same, and lists rarely: again when what was
/// listed is used up or mostly others', sooner where something waited and later where nothing did.
class QueryPicker {
 public:
  using Clock = std::chrono::steady_clock;

  explicit QueryPicker(const std::string& server);
  /// A query that waited a moment ago; none: nothing did, or it is not time to look.
  std::optional<std::string> next(const SpoolFolder& folder, std::size_t slots);
  /// Whether the last one was there still.
  void fetched(bool ours);
  /// When it is time to look.
  Clock::time_point due() const { return due_; }
  /// Queries that waited at the last look.
  std::size_t waiting() const { return waiting_; }

 private:
  void list(const SpoolFolder& folder, std::size_t slots);

  Rng random_;
  std::vector<std::string> names_;
  std::size_t misses_ = 0, waiting_ = 0;
  std::uint64_t lists_ = 0;
  Clock::duration pause_;
  Clock::time_point due_{};
};

}  // namespace stap
