// CRC-32C bit by bit, from its definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stap::test {

inline std::uint32_t crc32c_slow(std::span<const std::byte> bytes) {
  std::uint32_t c = 0xffffffffu;
  for (std::byte b : bytes) {
    c ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0u);
  }
  return ~c;
}

}  // namespace stap::test
