#include "couple/frame_reader.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/crc32c.h"
#include "couple/frame_layout.h"

namespace stap {

std::span<std::byte> FrameReader::room() {
  if (whole_ || !flaw_.empty()) return {};
  if (filled_ < kFrameHeader) return std::span(header_).subspan(filled_);
  return std::span(frame_.payload).subspan(filled_ - kFrameHeader);
}

void FrameReader::put(std::size_t bytes) {
  const bool had_header = filled_ >= kFrameHeader;
  filled_ += bytes;
  if (!had_header) check_start();
  if (!had_header && flaw_.empty() && filled_ == kFrameHeader) check_header();
  if (flaw_.empty() && filled_ >= kFrameHeader && filled_ - kFrameHeader == frame_.payload.size())
    check_payload();
}

// Before a whole header is there: few printed words and then silence must not look like waiting.
void FrameReader::check_start() {
  const auto start = std::span(header_).first(std::min(filled_, kFrameMagic.size()));
  if (!std::ranges::equal(start, std::as_bytes(std::span(kFrameMagic)).first(start.size())))
    flaw_ = fmt::format(
        "sent '{}' where a frame should begin: did the program print to stdout before it was "
        "connected, or write to the connection by itself?",
        plain_text(std::span(header_).first(filled_)));
}

void FrameReader::check_header() {
  const auto version = number_at<std::uint16_t>(header_ + kVersionAt);
  const auto type = number_at<std::uint16_t>(header_ + kTypeAt);
  const auto id = number_at<std::uint64_t>(header_ + kIdAt);
  const auto bytes = number_at<std::uint64_t>(header_ + kBytesAt);
  if (version != kWorkerProtocol) {
    flaw_ = fmt::format("speaks version {} of the worker protocol, expected {}", version,
                        kWorkerProtocol);
    return;
  }
  if (type == 0 || type >= kFrameTypes || number_at<std::uint32_t>(header_ + kReservedAt) != 0) {
    flaw_ =
        fmt::format("sent a frame of the unknown type {}, or one whose last bytes are not 0", type);
    return;
  }
  frame_.type = static_cast<FrameType>(type);
  frame_.id = id;
  const auto expected = std::ranges::find(expected_, frame_.type, &Expected::type);
  const bool answers = frame_.type == FrameType::answer || frame_.type == FrameType::failed;
  late_ = answers && (expected == expected_.end() || (expected->id && id < *expected->id));
  if (expected == expected_.end()) {
    std::vector<std::string_view> names;
    for (const Expected& one : expected_) names.push_back(to_string(one.type));
    flaw_ = fmt::format("sent {} out of turn, expected: {}", with_article(frame_.type),
                        fmt::join(names, ", "));
  } else if (expected->id && *expected->id != id) {
    flaw_ = fmt::format("sent {} to query {}, but {} was asked{}", with_article(frame_.type), id,
                        *expected->id, id < *expected->id ? " (one answer too many?)" : "");
  } else if (bytes > expected->most) {
    flaw_ = fmt::format("announced {} of {} bytes, expected at most {}", with_article(frame_.type),
                        bytes, expected->most);
  } else {
    checksum_ = number_at<std::uint32_t>(header_ + kChecksumAt);
    frame_.payload.resize(static_cast<std::size_t>(bytes));
  }
}

void FrameReader::check_payload() {
  if (crc32c(frame_.payload) == checksum_)
    whole_ = true;
  else
    flaw_ = fmt::format(
        "sent {} whose checksum does not fit: did the program write to the connection by itself?",
        with_article(frame_.type));
}

std::optional<WorkerFrame> FrameReader::take() {
  if (!whole_) return std::nullopt;
  whole_ = false;
  filled_ = 0;
  return std::exchange(frame_, {});
}

}  // namespace stap
