#include "stap/core/hash64.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

namespace stap {
namespace {

std::uint64_t of_text(std::string_view text) {
  return hash64(std::as_bytes(std::span(text)));
}

// Values that the reference program (xxhsum -H64) and its wrappers print.
TEST(Hash64, OfTextsIsThePublishedOne) {
  EXPECT_EQ(of_text(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(of_text("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(of_text("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(of_text("asdf"), 0x415872F599CEA71Eu);
  EXPECT_EQ(of_text("Call me Ishmael."), 0x6D04390FC9D61A90u);
  EXPECT_EQ(of_text("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
  EXPECT_EQ(of_text("Some years ago--never mind how long precisely-"), 0x8F26F2B986AFDC52u);
}

// The reference program's check of itself: byte i is the top one of p^(2^i) mod 2^32.
TEST(Hash64, OfTheReferencesBufferIsThePublishedOne) {
  std::vector<std::byte> buffer;
  for (std::uint32_t power = 2654435761; buffer.size() < 101; power *= power)
    buffer.push_back(static_cast<std::byte>(power >> 24));
  const std::span<const std::byte> bytes(buffer);

  EXPECT_EQ(hash64(bytes.first(1)), 0x4FCE394CC88952D8u);
  EXPECT_EQ(hash64(bytes.first(14)), 0xCFFA8DB881BC3A3Du);
  EXPECT_EQ(hash64(bytes), 0x0EAB543384F878ADu);
}

// Every length has its own way through the words. Broken by: a byte at the end that is left out.
TEST(Hash64, SeesEveryByteOfEveryLength) {
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (std::size_t length = 0; length <= 70; ++length)
    for (std::size_t place = 0; place <= length; ++place, ++count) {
      std::vector<std::byte> bytes(length);
      if (place < length) bytes[place] = std::byte{1};
      seen.insert(hash64(bytes));
    }

  EXPECT_EQ(seen.size(), count);
}

}  // namespace
}  // namespace stap
