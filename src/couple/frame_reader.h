// Frames of a worker, out of a stream that nobody believes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "couple/frames.h"

namespace stap {

/// A frame that may come now. All others are out of turn.
struct Expected {
  FrameType type{};
  std::uint64_t most = 0;           ///< bytes of its payload
  std::optional<std::uint64_t> id;  ///< that it must have
};

/// Makes frames of a stream that comes in pieces. Nothing in the stream is believed: a header is
/// checked against what is expected before anything is allocated for its payload.
class FrameReader {
 public:
  void expect(std::vector<Expected> types) { expected_ = std::move(types); }
  /// Where the next bytes go; empty while a frame waits to be taken, and behind a flaw.
  std::span<std::byte> room();
  /// That many bytes were put there.
  void put(std::size_t bytes);
  std::optional<WorkerFrame> take();
  /// What is wrong with the stream ("sent ..."), after which nothing more of it is read; empty if
  /// nothing is.
  const std::string& flaw() const { return flaw_; }
  /// The flaw is an answer that nobody waits for any more: to a query before.
  bool late() const { return late_; }
  /// True if the stream must not end here.
  bool within_frame() const { return filled_ > 0; }

 private:
  void check_start();
  void check_header();
  void check_payload();

  std::vector<Expected> expected_;
  std::byte header_[kFrameHeader];
  WorkerFrame frame_;
  std::uint32_t checksum_ = 0;
  std::size_t filled_ = 0;  // bytes of the frame, its header included
  bool whole_ = false;
  std::string flaw_;
  bool late_ = false;
};

}  // namespace stap
