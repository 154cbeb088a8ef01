#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stap {

/// CRC-32C (Castagnoli; RFC 3720): that of "123456789" is 0xe3069283. `before` is that of the bytes
/// in front of these, so that what comes in pieces has the checksum of the whole.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace stap
