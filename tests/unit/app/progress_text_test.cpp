#include "app/progress_text.h"

#include <gtest/gtest.h>

#include "stap/core/shown_text.h"

namespace stap::app {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using Verdict = LogPace::Verdict;

ProgressText text(std::size_t done) {
  return {.phase = "pool", .done = done, .total = 30, .unit = "candidates", .left = "9 s"};
}

TEST(ProgressText, ALogLineHasCountUnitAndTimeLeft) {
  const ProgressText bare{.phase = "pool", .done = 3, .total = 4};

  EXPECT_EQ(log_line(text(12)), "pool: 40 % of 30 candidates, 9 s left");
  EXPECT_EQ(log_line(bare), "pool: 75 %");
  EXPECT_EQ(log_line({.phase = "pool", .done = 199, .total = 200}), "pool: 99 %");  // not yet
}

TEST(ProgressText, TheBarIsFilledInProportion) {
  EXPECT_EQ(bar_line(text(10), 200),
            "pool [##########                    ] 33 % of 30 candidates, 9 s left");
  EXPECT_EQ(bar_line(text(30), 200),
            "pool [##############################] 100 % of 30 candidates, 9 s left");
}

TEST(ProgressText, WithLessRoomTheLessImportantGoesFirst) {
  ProgressText warned = text(15);
  warned.last_warning = "x was refused";

  EXPECT_EQ(bar_line(warned, 79),
            "pool [########        ] 50 % of 30 candidates, 9 s left; warning: x was refused");
  EXPECT_EQ(bar_line(warned, 73),
            "pool [#####     ] 50 % of 30 candidates, 9 s left; warning: x was refused");
  EXPECT_EQ(bar_line(warned, 72),
            "pool [###############               ] 50 % of 30 candidates, 9 s left");
  EXPECT_EQ(bar_line(warned, 49), "pool [#####     ] 50 % of 30 candidates, 9 s left");
  EXPECT_EQ(bar_line(warned, 48), "pool: 50 % of 30 candidates, 9 s left");
  EXPECT_EQ(bar_line(warned, 36), "pool: 50 % of 30 candidates");
  EXPECT_EQ(bar_line(warned, 26), "p..: 50 % of 30 candidates");
  EXPECT_EQ(bar_line(warned, 4), "50 %");
}

TEST(ProgressText, NoLineIsWiderThanTheTerminalAndNoCharacterIsCutApart) {
  ProgressText wide = text(29);
  wide.phase = "r\xc3\xb6hre \xe2\x88\x82 flow";  // two characters of two and three bytes
  wide.last_warning = "\xc3\xa4";

  for (std::size_t columns = 1; columns < 100; ++columns) {
    const std::string line = bar_line(wide, columns);

    std::size_t characters = 0;
    for (std::size_t i = 0; i < line.size(); ++characters) {
      const auto byte = static_cast<unsigned char>(line[i]);
      const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : 3;
      ASSERT_NE(byte & 0xC0, 0x80) << columns;
      ASSERT_LE(i + length, line.size()) << columns;
      i += length;
    }
    EXPECT_LE(characters, columns);
    EXPECT_GT(characters, 0u);
  }
}

TEST(ProgressText, AWarningOfSeveralLinesIsNotRepeated) {
  ProgressText warned = text(15);
  warned.last_warning = "a\nb";

  EXPECT_EQ(bar_line(warned, 200), bar_line(text(15), 200));
}

TEST(LogPace, ShowsATenthOnceAndOnlyASecondApart) {
  const LogPace::Time start{};
  LogPace pace(start);

  EXPECT_EQ(pace.judge("a", 0, 100, start), Verdict::show);
  EXPECT_EQ(pace.judge("a", 9, 100, start + 2s), Verdict::never);
  EXPECT_EQ(pace.judge("a", 10, 100, start + 2s), Verdict::show);
  EXPECT_EQ(pace.judge("a", 30, 100, start + 2900ms), Verdict::later);
  EXPECT_EQ(pace.judge("b", 0, 100, start + 2950ms), Verdict::later);
  EXPECT_EQ(pace.judge("a", 30, 100, start + 3s), Verdict::show);
  EXPECT_EQ(pace.judge("a", 100, 100, start + 4s), Verdict::show);
  EXPECT_EQ(pace.judge("a", 100, 100, start + 9s), Verdict::never);
  EXPECT_EQ(pace.judge("a", 0, 100, start + 10s), Verdict::show);  // the phase comes again
}

// Without the growing distance there would be 12,000 lines, one per tenth. With it there are at
// most 20 in the first 20 s, then a factor of 20/19 between any two (103 in the hour), and some at
// the same place.
TEST(LogPace, AnHourOfManyShortPhasesIsAShortLog) {
  const LogPace::Time start{};
  LogPace pace(start);

  int lines = 0;
  for (int second = 0; second < 3600; second += 3)
    for (std::size_t done = 1; done <= 10; ++done)
      lines += pace.judge("round " + std::to_string(second), done, 10,
                          start + second * 1s + done * 300ms) == Verdict::show;

  EXPECT_LE(lines, 125);
  EXPECT_GE(lines, 60);
}

// A terminal obeys none of it, and JSON means the same as before.
TEST(ShownText, WhatATerminalWouldObeyIsMadeVisible) {
  EXPECT_EQ(printable("a\tb\n\u00fc \u20ac \U0001f600"), "a\tb\n\u00fc \u20ac \U0001f600");
  EXPECT_EQ(printable("\x1b[2J\r\a\x7f"), "\\u001b[2J\\u000d\\u0007\\u007f");
  EXPECT_EQ(printable("\u009b\u202e\u2066\u200f\u2028"), "\\u009b\\u202e\\u2066\\u200f\\u2028");
  // Bytes that only some programs take for characters.
  EXPECT_EQ(printable("\x9b\xc3"), "\\x9b\\xc3");
  EXPECT_EQ(printable("\xc0\x9b\xed\xa0\x80"), "\\xc0\\x9b\\xed\\xa0\\x80");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\u0000");
}

TEST(ShownText, SizesAndWordsAreForPeople) {
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(5358924), "5.1 MiB");
  EXPECT_EQ(size_text(std::uintmax_t{20} << 30), "20 GiB");
  EXPECT_EQ(shell_quoted("my run's"), "'my run'\\''s'");
  EXPECT_EQ(shell_quoted("a/b.h5"), "a/b.h5");
}

}  // namespace
}  // namespace stap::app
