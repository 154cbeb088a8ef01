#include "core/mend.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "stap/core/seal.h"

namespace stap {
namespace {

std::uint32_t checksum(std::span<const char> bytes) {
  return crc32c(std::as_bytes(bytes));
}

// What a byte adds to a checksum when nothing follows it, and which byte adds a value with these
// upper eight bits.
struct Tables {
  std::array<std::uint32_t, 256> added{};
  std::array<std::uint8_t, 256> byte_of{};

  Tables() {
    const std::array<char, 1> zero{};
    for (std::size_t b = 0; b < 256; ++b) {
      const std::array<char, 1> byte{static_cast<char>(b)};
      added[b] = checksum(byte) ^ checksum(zero);
      byte_of[added[b] >> 24] = static_cast<std::uint8_t>(b);
    }
  }
};

}  // namespace

bool mend_byte(std::span<char> bytes, std::uint32_t crc) {
  static const Tables tables;
  if (bytes.size() > kMostMendable) return false;
  // Checksums are linear: their difference is what the changed byte adds, advanced by the bytes
  // behind it. So it is taken back byte by byte, until it is what a single byte adds.
  std::uint32_t difference = checksum(bytes) ^ crc;
  if (difference == 0) return false;
  std::size_t places = 0, place = 0;
  std::uint8_t change = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const std::uint8_t byte = tables.byte_of[difference >> 24];
    if (tables.added[byte] == difference) {
      ++places;
      place = i;
      change = byte;
    }
    difference = ((difference ^ tables.added[byte]) << 8) | byte;
  }
  if (places != 1) return false;
  bytes[place] = static_cast<char>(bytes[place] ^ static_cast<char>(change));
  return true;
}

std::optional<std::string> mended_json(std::string_view text) {
  constexpr std::size_t kDigits = 8, kRest = kJsonSeal.size() + kDigits + 2;
  if (text.size() <= kRest || is_whole_json(text)) return std::nullopt;
  std::vector<std::string> found;
  const auto keep_if_near = [&](std::string candidate) {
    const auto differing = std::ranges::count_if(
        candidate, [&, i = std::size_t{0}](char c) mutable { return c != text[i++]; });
    if (differing == 1 && is_whole_json(candidate)) found.push_back(std::move(candidate));
  };
  // Before the content: its text is known.
  const std::string rest(text.substr(kRest));
  keep_if_near(fmt::format("{}{:08x}\",{}", kJsonSeal, checksum(rest), rest));
  // In the content.
  std::uint32_t crc = 0;
  const std::string digits(text.substr(kJsonSeal.size(), kDigits));
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + kDigits, crc, 16);
  std::string mended = rest;
  if (failure == std::errc() && end == digits.data() + kDigits && mend_byte(mended, crc))
    keep_if_near(std::string(text.substr(0, kRest)) + mended);
  if (found.size() != 1) return std::nullopt;
  return found.front();
}

}  // namespace stap
