// What those who write frames and those who read them share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "couple/frames.h"

namespace stap {

static_assert(std::endian::native == std::endian::little, "frames are copied in memory order");

inline constexpr std::string_view kFrameMagic = "STAP";
inline constexpr std::size_t kFrameTypes = 9;  ///< 0 is none

// Where things stand in a header.
inline constexpr std::size_t kVersionAt = 4, kTypeAt = 6, kIdAt = 8, kBytesAt = 16,
                             kChecksumAt = 24, kReservedAt = 28;

template <class Number>
Number number_at(const std::byte* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

/// "an answer", "a hello".
std::string with_article(FrameType type);

}  // namespace stap
