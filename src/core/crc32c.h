#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stap {

/// CRC-32C (Castagnoli; RFC 3720): that of "123456789" is 0xe3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace stap
