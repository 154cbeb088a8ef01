#include "core/mend.h"

#include <gtest/gtest.h>

#include <span>

#include "core/crc32c.h"
#include "stap/core/seal.h"

namespace stap {
namespace {

std::uint32_t checksum(const std::string& text) {
  return crc32c(std::as_bytes(std::span(text)));
}

// Every change of every byte is taken back.
TEST(Mend, AByteIsFoundByTheChecksum) {
  std::string text = "states, 1.25, -3e-7, of some length";
  const std::uint32_t crc = checksum(text);
  const std::string whole = text;
  EXPECT_FALSE(mend_byte(text, crc));
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int change = 1; change < 256; ++change) {
      text[i] = static_cast<char>(whole[i] ^ change);
      ASSERT_TRUE(mend_byte(text, crc)) << i << " " << change;
      ASSERT_EQ(text, whole) << i << " " << change;
    }
}

TEST(Mend, TwoBytesAreNotGuessed) {
  std::string text(2000, 'x');
  const std::uint32_t crc = checksum(text);
  int mended = 0;
  for (std::size_t i = 0; i + 7 < text.size(); ++i) {
    std::string bad = text;
    bad[i] = 'y';
    bad[i + 7] = 'z';
    const std::string before = bad;
    if (mend_byte(bad, crc))
      ++mended;
    else
      EXPECT_EQ(bad, before);
  }
  EXPECT_LE(mended, 1);  // one in 8,000 of these may look like another byte's change
  std::string large(kMostMendable + 1, 'x');
  EXPECT_FALSE(mend_byte(large, 0));
}

TEST(Mend, ASealedObjectWhateverItsByte) {
  const std::string whole = seal_json("{\"seq\":3,\"type\":\"answer\",\"body\":{\"step\":7}}");
  EXPECT_FALSE(mended_json(whole));
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int change : {1, 2, 0x20, 0x80, 0xff}) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ change);
      ASSERT_EQ(mended_json(bad), whole) << i << " " << change;
    }
}

}  // namespace
}  // namespace stap
