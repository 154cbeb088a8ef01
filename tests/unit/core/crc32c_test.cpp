#include "core/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "reference/crc32c.h"
#include "stap/core/rng.h"

namespace stap {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// RFC 3720, B.4, and the usual check value.
TEST(Crc32c, PublishedValues) {
  const std::vector<std::byte> zeros(32, std::byte{0}), ones(32, std::byte{0xff});
  std::vector<std::byte> rising;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<std::byte>(i));

  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(zeros), 0x8a9136aau);
  EXPECT_EQ(crc32c(ones), 0x62a8ab43u);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(test::crc32c_slow(rising), 0x46dd794eu);
}

// Broken by: a table of a wrong place, a rest that is forgotten, words that are taken for aligned.
TEST(Crc32c, EqualsTheSlowOneForAnyLengthAndPlace) {
  const Rng rng(7);
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(256.0 * rng.uniform(i));

  for (std::size_t first = 0; first < 9; ++first)
    for (std::size_t n = 0; n + first <= 40; ++n) {
      const auto piece = std::span(bytes).subspan(first, n);
      ASSERT_EQ(crc32c(piece), test::crc32c_slow(piece)) << first << " " << n;
    }
  EXPECT_EQ(crc32c(bytes), test::crc32c_slow(bytes));
}

}  // namespace
}  // namespace stap
