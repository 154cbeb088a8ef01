#include "core/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace stap {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78u;  // bits reversed

// tables[k][b]: what byte b does to the checksum when k further bytes follow it, so that eight
// bytes are eight look-ups that do not wait for each other.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t c = b;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? kPolynomial : 0u);
    tables[0][b] = c;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
  return tables;
}();

std::uint32_t byte_at(std::uint64_t word, int place) {
  return static_cast<std::uint32_t>(word >> (8 * place)) & 0xff;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  static_assert(std::endian::native == std::endian::little, "words are read in memory order");
  std::uint32_t crc = ~before;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    word ^= crc;
    crc = 0;
    for (int place = 0; place < 8; ++place)
      crc ^= kTables[static_cast<std::size_t>(7 - place)][byte_at(word, place)];
    bytes = bytes.subspan(8);
  }
  for (std::byte b : bytes)
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(b)) & 0xff];
  return ~crc;
}

}  // namespace stap
