#include "stap/core/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace stap {
namespace {

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The examples of FIPS 180-2, appendix B, and of NIST's list of short messages.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(bytes("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                             "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_hex(bytes(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Breaking mutations: bytes that are held lost or hashed twice, padding that forgets the block's
// end (lengths 55, 56, 63, 64).
TEST(Sha256, PiecesDoNotShow) {
  for (const std::size_t length : {1u, 54u, 55u, 56u, 57u, 63u, 64u, 65u, 127u, 128u, 200u}) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + i % 26);
    const std::string whole = sha256_hex(bytes(text));
    for (const std::size_t piece : {1u, 3u, 63u, 64u, 65u}) {
      Sha256 sum;
      for (std::size_t first = 0; first < length; first += piece) {
        sum.add(bytes(text.substr(first, piece)));
        sum.hex();  // looking on the way changes nothing
      }

      EXPECT_EQ(sum.hex(), whole) << length << " in pieces of " << piece;
    }
  }
}

// Lengths at which the padding changes its form; values from sha256sum of GNU coreutils.
TEST(Sha256, PaddingAtTheEndOfABlock) {
  EXPECT_EQ(sha256_hex(bytes(std::string(55, 'x'))),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(sha256_hex(bytes(std::string(56, 'x'))),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(sha256_hex(bytes(std::string(64, 'x'))),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

}  // namespace
}  // namespace stap
