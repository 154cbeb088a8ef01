#include "stap/core/seal.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include "reference/crc32c.h"
#include "stap/core/error.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::error_text;
using test::TemporaryFolder;

const std::string kText = "study: {rounds: 2}\nseed: 1\n";

// Every change of a byte, every cut and every byte too many is noticed. A seal that left out a byte
// of the content, its own digits or the length would let one pass.
TEST(Seal, NoChangeOfAByteOfATextPasses) {
  const TemporaryFolder folder;
  const std::string whole = kText + seal_line(kText);
  const auto refused = [&](const std::string& text, const std::string& what) {
    std::string taken = text;
    error_text(ErrorKind::data, [&] { take_seal(taken, what, Sealed::always); });
    folder.file("f", text);
    error_text(ErrorKind::data, [&] { check_seal(folder.path("f"), Sealed::always); });
  };
  std::string taken = whole;
  EXPECT_EQ(take_seal(taken, "f"), Seal::whole);
  EXPECT_EQ(taken, kText);
  folder.file("f", whole);
  EXPECT_EQ(check_seal(folder.path("f")), Seal::whole);

  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int bits : {1, 0x80, 0xff}) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ bits);
      refused(bad, std::to_string(i));
      // Also where a seal is not expected: half of one is enough to know that it was there.
      error_text(ErrorKind::data, [&] { take_seal(bad, "f"); });
    }
  for (std::size_t n = 0; n < whole.size(); ++n) refused(whole.substr(0, n), std::to_string(n));
  refused(whole + "\n", "more");
  refused(whole + whole, "twice");
}

TEST(Seal, TextsWithoutOneAreLeftAlone) {
  const TemporaryFolder folder;
  std::string text = kText;
  EXPECT_EQ(take_seal(text, "f"), Seal::none);
  EXPECT_EQ(text, kText);
  folder.file("f", kText);
  EXPECT_EQ(check_seal(folder.path("f")), Seal::none);
  text = "{\"a\":1}";
  EXPECT_EQ(take_json_seal(text, "f"), Seal::none);
  EXPECT_EQ(text, "{\"a\":1}");
}

TEST(Seal, IsTheChecksumOfTheContent) {
  const std::uint32_t crc = test::crc32c_slow(std::as_bytes(std::span(kText)));
  char expected[100];
  std::snprintf(expected, sizeof expected, "# stap-seal/1 crc32c=%08x bytes=%020zu stap-seal-end\n",
                crc, kText.size());
  EXPECT_EQ(seal_line(kText), expected);
}

TEST(Seal, NoChangeOfAByteOfAJsonObjectPasses) {
  const std::string object = "{\"a\": [1, 2],\n \"b\": \"text\"}\n";
  const std::string whole = seal_json(object);
  std::string taken = whole;
  EXPECT_EQ(take_json_seal(taken, "f"), Seal::whole);
  EXPECT_EQ(taken, object);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(is_whole_json(bad)) << i;
    error_text(ErrorKind::data, [&] { take_json_seal(bad, "f", Sealed::always); });
  }
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(is_whole_json(whole.substr(0, n)));
}

// A file that was found whole a moment ago may have changed since.
TEST(Seal, AFileIsLookedAtAgainWhenItHasChanged) {
  const TemporaryFolder folder;
  const std::string whole = kText + seal_line(kText);
  for (int i = 0; i < 20; ++i) {
    folder.file("f", whole);
    EXPECT_EQ(check_seal(folder.path("f")), Seal::whole);
    const int file = open(folder.path("f").c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(file, "S", 1, 0), 1);
    close(file);
    error_text(ErrorKind::data, [&] { check_seal(folder.path("f")); });
  }
}

// What a file was sealed with in pieces is what it is sealed with as a whole.
TEST(Seal, LargeFiles) {
  const TemporaryFolder folder;
  std::string text((std::size_t{1} << 20) + 12345, 'a');
  for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>(i);
  folder.file("f", text);
  const int file = open(folder.path("f").c_str(), O_RDWR);
  add_seal(file, "f");
  close(file);
  EXPECT_EQ(test::content(folder.path("f")), text + seal_line(text));
  EXPECT_EQ(check_seal(folder.path("f")), Seal::whole);
}

TEST(Seal, OfWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_NE(error_text(ErrorKind::data, [&] { check_seal(folder.path()); }).find("no regular file"),
            std::string::npos);
  EXPECT_NE(error_text(ErrorKind::data, [&] { check_seal(folder.path("none")); }).find("No such"),
            std::string::npos);
}

}  // namespace
}  // namespace stap
