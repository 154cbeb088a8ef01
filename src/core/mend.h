// Finding one changed byte by a checksum.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stap {

/// Where more bytes are concerned a second place might give the same checksum.
inline constexpr std::size_t kMostMendable = std::size_t{1} << 14;

/// Changes the one byte that makes `crc` the CRC-32C of these bytes. False, and nothing is changed,
/// if it is that already, if there is no such byte or more than one, or there are too many bytes to
/// tell.
bool mend_byte(std::span<char> bytes, std::uint32_t crc);

/// A sealed JSON object (stap/core/seal.h) of which one byte was changed, as it was before; empty
/// if that cannot be told.
std::optional<std::string> mended_json(std::string_view text);

}  // namespace stap
