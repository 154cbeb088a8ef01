#include "couple/frames.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "couple/frame_layout.h"

namespace stap {
namespace {

constexpr std::array<std::string_view, kFrameTypes> kTypes{
    "", "hello", "setup", "ready", "query", "answer", "failed", "heartbeat", "end"};
// A frame that grows; finish() puts its size and checksum into the header.
class FrameWriter {
 public:
  FrameWriter(FrameType type, std::uint64_t id, std::size_t payload) {
    bytes_.reserve(kFrameHeader + payload);
    bytes(std::as_bytes(std::span(kFrameMagic)));
    number(kWorkerProtocol);
    number(static_cast<std::uint16_t>(type));
    number(id);
    bytes_.resize(kFrameHeader);
  }
  void bytes(std::span<const std::byte> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  template <class Number>
  void number(Number value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  void count(std::size_t value) { number(static_cast<std::uint32_t>(value)); }
  void long_count(std::size_t value) { number(static_cast<std::uint64_t>(value)); }
  void numbers(std::span<const double> values) { bytes(std::as_bytes(values)); }
  void text(std::string_view text) {
    count(text.size());
    bytes(std::as_bytes(std::span(text)));
  }
  std::vector<std::byte> finish() {
    const std::span<const std::byte> payload = std::span(bytes_).subspan(kFrameHeader);
    const std::uint64_t size = payload.size();
    const std::uint32_t checksum = crc32c(payload);
    std::memcpy(&bytes_[kBytesAt], &size, sizeof size);
    std::memcpy(&bytes_[kChecksumAt], &checksum, sizeof checksum);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

// Takes a payload apart; whoever wants more than there is gets zeros, and good() is false.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Number>
  Number number() {
    const auto from = part(sizeof(Number));
    return from.empty() ? Number{} : number_at<Number>(from.data());
  }
  std::span<const std::byte> text() {
    const auto size = number<std::uint32_t>();
    if (size > kWorkerTextMost) good_ = false;
    return part(size);
  }
  /// `count` was checked by the caller against what may be.
  std::vector<double> numbers(std::size_t count) {
    const auto from = part(count * sizeof(double));
    std::vector<double> values(from.size() / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), from.data(), from.size());
    return values;
  }
  /// All was there, and nothing is left.
  bool good() const { return good_ && bytes_.empty(); }

 private:
  std::span<const std::byte> part(std::size_t size) {
    if (!good_ || size > bytes_.size()) {
      good_ = false;
      return {};
    }
    const auto from = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return from;
  }

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

std::string state_count(std::uint64_t count, const std::string& shape) {
  return fmt::format("{} state{} of {}", count, count == 1 ? "" : "s", shape);
}

std::string malformed(FrameType type) {
  return fmt::format("sent {} that is not laid out as protocol {} says", with_article(type),
                     kWorkerProtocol);
}

// How many bytes a character of UTF-8 has that begins here; 0 if none does.
std::size_t character_size(std::span<const std::byte> bytes) {
  const auto first = std::to_integer<std::uint32_t>(bytes[0]);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xc2 && first < 0xe0 ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  if (size == 0 || size > bytes.size()) return 0;
  std::uint32_t code = size == 1 ? first : first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = std::to_integer<std::uint32_t>(bytes[i]);
    if ((next & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (next & 0x3fu);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool not_a_character =
      (code >= 0xd800 && code < 0xe000) || code > 0x10ffff || (code >= 0x7f && code < 0xa0);
  return overlong || not_a_character ? 0 : size;
}

}  // namespace

std::string_view to_string(FrameType type) {
  const auto number = static_cast<std::size_t>(type);
  return number < kTypes.size() ? kTypes[number] : kTypes[0];
}

std::string with_article(FrameType type) {
  const std::string_view name = to_string(type);
  return fmt::format("{} {}", name == "answer" || name == "end" ? "an" : "a", name);
}

std::vector<std::byte> frame_bytes(const WorkerFrame& frame) {
  FrameWriter writer(frame.type, frame.id, frame.payload.size());
  writer.bytes(frame.payload);
  return writer.finish();
}

std::vector<std::byte> setup_frame(const Outline& outline, std::size_t slot) {
  FrameWriter writer(FrameType::setup, 0, 1024);
  writer.count(outline.grid.axes());
  writer.count(outline.grid.channels);
  writer.count(outline.parameters.size());
  writer.count(slot);
  writer.number(outline.dt);
  for (std::size_t points : outline.grid.points) writer.long_count(points);
  writer.numbers(outline.grid.lengths);
  for (const Parameter& parameter : outline.parameters)
    writer.number(parameter.varies ? std::numeric_limits<double>::quiet_NaN() : parameter.value);
  writer.text(outline.name);
  for (const std::string& channel : outline.channels) writer.text(channel);
  for (const Parameter& parameter : outline.parameters) writer.text(parameter.name);
  return writer.finish();
}

std::vector<std::byte> query_frame(std::uint64_t id, const Query& query, const Outline& outline) {
  std::vector<double> parameters;
  for (const Parameter& parameter : parameters_of(outline, query))
    parameters.push_back(parameter.value);
  FrameWriter writer(FrameType::query, id,
                     40 + sizeof(double) * (parameters.size() + query.state.size()));
  writer.number(query.time);
  writer.number(outline.dt);
  writer.long_count(query.steps);
  writer.long_count(parameters.size());
  writer.long_count(query.state.size());
  writer.numbers(parameters);
  writer.numbers(query.state);
  return writer.finish();
}

std::uint64_t hello_most() {
  return 16 + 2 * (4 + kWorkerTextMost);
}

std::uint64_t answer_most(const Grid& grid, std::size_t steps) {
  return 16 + sizeof(double) * steps * grid.values();
}

std::uint64_t failed_most(const Grid& grid, std::size_t steps) {
  return 24 + sizeof(double) * steps * grid.values() + 4 + kWorkerTextMost;
}

std::string read_hello(std::span<const std::byte> payload, Hello& hello) {
  PayloadReader reader(payload);
  hello.protocol = reader.number<std::uint32_t>();
  hello.steps_most = reader.number<std::uint32_t>();
  hello.heartbeat = reader.number<double>();
  const auto token = reader.text();
  hello.token.assign(reinterpret_cast<const char*>(token.data()), token.size());
  hello.name = plain_text(reader.text());
  if (!reader.good() || !(std::isfinite(hello.heartbeat) && hello.heartbeat >= 0))
    return malformed(FrameType::hello);
  if (hello.protocol != kWorkerProtocol)
    return fmt::format("speaks version {} of the worker protocol, expected {}", hello.protocol,
                       kWorkerProtocol);
  return {};
}

std::string read_ready(std::span<const std::byte> payload, const Grid& grid) {
  PayloadReader reader(payload);
  const auto values = reader.number<std::uint64_t>();
  if (!reader.good()) return malformed(FrameType::ready);
  if (values != grid.values())
    return fmt::format("is ready for states of {} values, expected {} ({})", values, grid.values(),
                       grid.shape_text());
  return {};
}

std::string read_answer(std::span<const std::byte> payload, const Grid& grid, std::size_t steps,
                        std::vector<double>& states) {
  PayloadReader reader(payload);
  const auto made = reader.number<std::uint64_t>();
  const auto values = reader.number<std::uint64_t>();
  // Numbers first: a count that is not the one expected never becomes a size.
  if (made != steps || values != grid.values())
    return fmt::format("answered with {}, expected {}",
                       state_count(made, fmt::format("{} values", values)),
                       state_count(steps, grid.shape_text()));
  std::vector<double> content = reader.numbers(steps * grid.values());
  if (!reader.good()) return malformed(FrameType::answer);
  states = std::move(content);
  return {};
}

std::string read_failed(std::span<const std::byte> payload, const Grid& grid, std::size_t steps,
                        WorkerFailure& failure) {
  PayloadReader reader(payload);
  const auto made = reader.number<std::uint64_t>();
  const auto values = reader.number<std::uint64_t>();
  const auto retry = reader.number<std::uint64_t>();
  if (made > 0 && (made >= steps || values != grid.values()))
    return fmt::format("failed after {}, expected fewer than {}",
                       state_count(made, fmt::format("{} values", values)),
                       state_count(steps, grid.shape_text()));
  std::vector<double> states = reader.numbers(static_cast<std::size_t>(made) * grid.values());
  const auto text = reader.text();
  if (!reader.good() || retry > 1) return malformed(FrameType::failed);
  failure = {std::move(states), retry == 1, plain_text(text)};
  return {};
}

std::string plain_text(std::span<const std::byte> bytes) {
  std::string text;
  while (!bytes.empty()) {
    const auto first = std::to_integer<unsigned char>(bytes[0]);
    std::size_t size = first >= 0x20 ? character_size(bytes) : 0;
    if (size > 0)
      text.append(reinterpret_cast<const char*>(bytes.data()), size);
    else
      text += first >= '\t' && first <= '\r' ? ' ' : '?';
    bytes = bytes.subspan(std::max<std::size_t>(size, 1));
  }
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

}  // namespace stap
