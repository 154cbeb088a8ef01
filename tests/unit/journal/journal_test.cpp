#include "stap/journal/journal.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "stap/core/error.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

config::Value body(int number) {
  config::Value value;
  value.set("number", number);
  return value;
}

TEST(Journal, KeepsWhatWasAppended) {
  const test::TemporaryFolder folder;
  {
    Journal journal(folder.path("j"));
    journal.append("answer", body(1));
    journal.append("ledger", body(2));
  }

  const Journal again(folder.path("j"));

  ASSERT_EQ(again.lines().size(), 2u);
  EXPECT_EQ(again.lines()[1].sequence, 1u);
  EXPECT_EQ(again.lines()[1].type, "ledger");
  EXPECT_EQ(again.lines()[1].body, body(2));
}

// A state of 384 x 384 points is such a line.
TEST(Journal, ReadsLinesLongerThanAnyYamlDocument) {
  const test::TemporaryFolder folder;
  config::Value large = body(1);
  large.set("state", std::string(config::kMaxYamlBytes + 1, 'A'));
  Journal(folder.path("j")).append("answer", large);

  const Journal again(folder.path("j"));

  ASSERT_EQ(again.lines().size(), 1u);
  EXPECT_EQ(again.lines()[0].body, large);
}

// A crash may cut the last line anywhere: what was whole before stays, and the journal goes on.
TEST(Journal, DropsATornLastLineWhereverItWasCut) {
  const test::TemporaryFolder folder;
  Journal(folder.path("j")).append("a", body(1));
  const std::string one = test::content(folder.path("j"));
  Journal(folder.path("j")).append("b", body(2));
  const std::string two = test::content(folder.path("j"));

  for (std::size_t n = one.size(); n < two.size(); ++n) {
    folder.file("j", two.substr(0, n));
    Journal journal(folder.path("j"));
    ASSERT_EQ(journal.lines().size(), 1u) << n;
    journal.append("b", body(2));
    EXPECT_EQ(test::content(folder.path("j")), two) << n;
  }
}

// Readers neither need the lock nor change the file, torn end or not.
TEST(Journal, CanBeReadWhileItIsInUse) {
  const test::TemporaryFolder folder;
  Journal journal(folder.path("j"));
  journal.append("a", body(1));
  const std::string torn = test::content(folder.path("j")) + "{\"crc\":\"00";
  folder.file("torn", torn);

  const auto lines = read_journal(folder.path("j"));
  const auto whole_ones = read_journal(folder.path("torn"));

  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].body, body(1));
  EXPECT_EQ(whole_ones.size(), 1u);
  EXPECT_EQ(test::content(folder.path("torn")), torn);
  EXPECT_THROW(read_journal(folder.path("none")), Error);
}

// Mutations: a search that takes escaped quotes for real ones, an end that does.
TEST(Journal, CanBeReadWithoutTheTextsOfAKey) {
  const test::TemporaryFolder folder;
  config::Value whole = body(1);
  whole.set("reason", "\"state\":\"trap\" \\");
  whole.set("state", "AA\"\\=");
  whole.set("after", "state");
  {
    Journal journal(folder.path("j"));
    journal.append("answer", whole);
    journal.append("ledger", body(2));
  }

  const auto lines = read_journal(folder.path("j"), "state");

  config::Value less = whole;
  less.set("state", "");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].body, less);
  EXPECT_EQ(lines[1].body, body(2));
  std::string damaged = test::content(folder.path("j"));
  damaged[damaged.find("AA")] = 'B';  // in what is left out: seen all the same
  folder.file("j", damaged);
  EXPECT_THROW(read_journal(folder.path("j"), "state"), Error);
}

// Every single changed byte of an earlier line is found.
TEST(Journal, FindsDamageInTheMiddle) {
  const test::TemporaryFolder folder;
  {
    Journal journal(folder.path("j"));
    journal.append("a", body(1));
    journal.append("b", body(2));
  }
  const std::string good = test::content(folder.path("j"));
  const std::size_t first = good.find('\n');

  for (std::size_t i = 0; i < first; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder.file("j", bad);
    EXPECT_THROW(Journal(folder.path("j")), Error) << i;
  }
  folder.file("j", good.substr(first + 1));  // a line is missing
  EXPECT_THROW(Journal(folder.path("j")), Error);
}

// The checksum is CRC-32C: its published check value is that of "123456789", 0xe3069283; here it is
// seen through a line made by hand with a second implementation (bit by bit).
TEST(Journal, ChecksumIsCrc32c) {
  auto crc = [](std::string_view text) {
    std::uint32_t c = 0xffffffffu;
    for (char ch : text) {
      c ^= static_cast<unsigned char>(ch);
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0u);
    }
    return ~c;
  };
  ASSERT_EQ(crc("123456789"), 0xe3069283u);
  const std::string rest = R"("seq":0,"type":"t","body":{"x":1}})";
  char checksum[9];
  std::snprintf(checksum, sizeof checksum, "%08x", crc(rest));
  const test::TemporaryFolder folder;
  folder.file("j", std::string("{\"crc\":\"") + checksum + "\"," + rest + "\n");

  EXPECT_EQ(Journal(folder.path("j")).lines().at(0).type, "t");
}

TEST(Journal, UnwritablePlaceIsAStorageError) {
  const test::TemporaryFolder folder;
  try {
    Journal(folder.path("no/such/folder/j"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::storage);
  }
}

TEST(Journal, IsLockedWhileItIsOpen) {
  const test::TemporaryFolder folder;
  std::optional<Journal> first(folder.path("j"));
  try {
    Journal(folder.path("j"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::storage);
    EXPECT_NE(std::string(e.what()).find("in use"), std::string::npos) << e.what();
  }

  first.reset();

  EXPECT_NO_THROW(Journal(folder.path("j")));
}

TEST(EncodeDoubles, ComesBackBitForBit) {
  const std::vector<double> odd = {0.1, -0.0, 1e-320, std::numeric_limits<double>::infinity(),
                                   std::nan("")};
  for (std::size_t n = 0; n <= odd.size(); ++n) {
    const std::vector<double> values(odd.begin(), odd.begin() + static_cast<long>(n));
    const std::vector<double> back = decode_doubles(encode_doubles(values));
    ASSERT_EQ(back.size(), n);
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_EQ(std::bit_cast<std::uint64_t>(back[i]), std::bit_cast<std::uint64_t>(values[i]));
  }
  EXPECT_EQ(encode_doubles({1.0}), "AAAAAAAA8D8=");  // 00 00 00 00 00 00 f0 3f
  EXPECT_THROW(decode_doubles("AAAA"), Error);
  EXPECT_THROW(decode_doubles("AAAAAAAA!D8="), Error);
}

}  // namespace
}  // namespace stap
