#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace stap {

/// The SHA-256 of FIPS 180-4 of all bytes added so far.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  /// 64 lower-case hexadecimal digits. More may be added afterwards.
  std::string hex() const;

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> rest_{};  // bytes that do not fill a block yet
  std::uint64_t length_ = 0;          // bytes added in all
};

/// The same of one piece.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace stap
