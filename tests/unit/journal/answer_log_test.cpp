#include "stap/journal/answer_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "stap/core/error.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::error_text;
using test::TemporaryFolder;

// Answers that differ in everything, states of different lengths among them.
AnswerRecord answer(std::size_t i) {
  AnswerRecord a;
  a.candidate = 100 + i;
  a.step = i % 3;
  a.status = i % 4 == 3 ? Answer::Status::failed : Answer::Status::ok;
  a.reason = a.status == Answer::Status::ok ? "" : "too \"steep\"\n";
  if (a.status == Answer::Status::ok)
    for (std::size_t k = 0; k < 2 + i % 2; ++k)
      a.state.push_back(static_cast<double>(i) + 0.1 * static_cast<double>(k));
  a.seconds = 0.1 * static_cast<double>(i);
  a.attempts = static_cast<int>(i);
  a.input_hash = 0xfedcba9876543210u + i;
  return a;
}

constexpr std::size_t kGroups = 3, kEach = 2;

class AnswerLogTest : public ::testing::Test {
 protected:
  std::string journal() const { return folder_.path("journal.jsonl"); }
  std::string store() const { return folder_.path("answers.bin"); }
  AnswerLog open(const JournalVisitor& others = {}) const { return {journal(), store(), others}; }

  // kGroups commits of kEach answers of acquisition 1.
  void write() const {
    AnswerLog log = open();
    for (std::size_t i = 0; i < kGroups * kEach; ++i) {
      log.append(1, answer(i));
      if (i % kEach == kEach - 1) log.commit();
    }
  }
  void put(const std::string& journal_text, const std::string& store_bytes) const {
    folder_.file("journal.jsonl", journal_text);
    folder_.file("answers.bin", store_bytes);
  }
  // How many of the first answers are there, and as they were; -1 if others are as well.
  static int there(const AnswerLog& log) {
    const LoggedAnswers answers = log.recorded(1);
    std::size_t n = 0;
    while (n < kGroups * kEach && answers.find(100 + n, n % 3) == answer(n)) ++n;
    return answers.count() == n ? static_cast<int>(n) : -1;
  }
  TemporaryFolder folder_;
};

TEST_F(AnswerLogTest, GivesBackWhatWasCommitted) {
  write();

  const AnswerLog log = open();

  EXPECT_EQ(there(log), static_cast<int>(kGroups * kEach));
  EXPECT_EQ(log.dropped(), 0u);
  EXPECT_EQ(log.recorded(0).count(), 0u);
  EXPECT_FALSE(log.recorded(1).find(100, 1).has_value());
}

// Bit for bit, whatever the values are; of two answers to one step the last counts.
TEST_F(AnswerLogTest, StatesComeBackBitForBit) {
  AnswerRecord odd = answer(0);
  odd.state = {-0.0, 1e-320, std::numeric_limits<double>::infinity(), std::nan("")};
  {
    AnswerLog log = open();
    log.append(0, answer(0));
    log.append(0, odd);
    log.append(2, answer(1));
    log.commit();
  }

  const AnswerLog log = open();
  const auto back = log.recorded(0).find(100, 0);

  ASSERT_TRUE(back && back->state.size() == 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back->state[i]),
              std::bit_cast<std::uint64_t>(odd.state[i]));
  EXPECT_EQ(log.recorded(0).count(), 1u);
}

TEST_F(AnswerLogTest, KnowsWhatThisProcessAppended) {
  AnswerLog log = open();
  log.append(1, answer(0));
  log.commit();

  EXPECT_EQ(there(log), 1);
}

// How often each answer of a journal is handed on.
std::map<std::pair<std::size_t, std::size_t>, std::size_t> visited(const std::string& journal) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> seen;
  read_answers(journal, [&](std::size_t acquisition, const AnswerRecord& a) {
    ++seen[{acquisition, a.candidate}];
  });
  return seen;
}

TEST_F(AnswerLogTest, WhatIsRevokedIsAsIfNobodyHadAsked) {
  write();
  {
    AnswerLog log = open();
    log.append(2, answer(3));  // of another acquisition
    const std::vector<AnswerKey> keys{{103, 0}, {100, 0}, {777, 5}};
    log.revoke(1, keys, "three failed");
    EXPECT_EQ(log.recorded(1).count(), kGroups * kEach - 2);
  }

  const AnswerLog log = open();

  EXPECT_FALSE(log.recorded(1).contains(103, 0));
  EXPECT_FALSE(log.recorded(1).contains(100, 0));
  EXPECT_EQ(log.recorded(1).find(101, 1), answer(1));
  EXPECT_TRUE(log.recorded(2).contains(103, 0));
  const auto seen = visited(journal());
  EXPECT_EQ(seen.size(), kGroups * kEach - 2 + 1);
  EXPECT_EQ(seen.count({1, 103}), 0u);
  EXPECT_EQ(seen.count({2, 103}), 1u);
}

TEST_F(AnswerLogTest, WhatIsAskedAgainCounts) {
  write();
  AnswerRecord second = answer(0);
  second.state = {7.5};
  {
    AnswerLog log = open();
    log.revoke(1, std::vector<AnswerKey>{{100, 0}}, "mended since");
    log.append(1, second);
    log.commit();
  }

  const AnswerLog log = open();

  EXPECT_EQ(log.recorded(1).find(100, 0), second);
  EXPECT_EQ(visited(journal()).at({1, 100}), 1u);
}

TEST_F(AnswerLogTest, RevokingNothingWritesNothing) {
  write();
  const std::string before = content(journal());

  open().revoke(1, {}, "nothing");

  EXPECT_EQ(content(journal()), before);
}

TEST_F(AnswerLogTest, HandsOtherLinesOnAndWritesThemBehindTheAnswers) {
  config::Value ledger;
  ledger.set("bought", 1);
  {
    AnswerLog log = open();
    log.append(1, answer(0));
    log.note("ledger", ledger);
  }
  std::vector<std::string> seen;

  const AnswerLog log = open([&](JournalLine&& line, const std::string& where) {
    EXPECT_EQ(line.body, ledger);
    seen.push_back(line.type + " " + where);
  });

  EXPECT_EQ(seen, std::vector<std::string>{"ledger " + journal() + ", line 2"});
  EXPECT_EQ(there(log), 1);
}

TEST_F(AnswerLogTest, ARestartLeavesOneLineAndTheLock) {
  write();
  config::Value body;
  body.set("seconds", 1);
  {
    AnswerLog log = open();
    log.restart("session", body);
    EXPECT_EQ(there(log), 0);
    EXPECT_THROW(open(), InUse);
    EXPECT_EQ(std::filesystem::file_size(store()), AnswerStore::kFirst);
  }
  std::vector<std::string> seen;

  AnswerLog log = open([&](JournalLine&& line, const std::string&) { seen.push_back(line.type); });

  EXPECT_EQ(seen, std::vector<std::string>{"session"});
  log.append(1, answer(0));
  log.commit();
  EXPECT_EQ(there(log), 1);
}

TEST_F(AnswerLogTest, WithoutACommitNothingIsThere) {
  {
    AnswerLog log = open();
    log.append(1, answer(0));
  }

  EXPECT_EQ(there(open()), 0);
}

// A kill leaves a start of the store's last write, or all of it and a start of the journal's.
// Whatever is left of the last commit, answers that are there are whole, and the log goes on to the
// same bytes as if nothing had happened.
TEST_F(AnswerLogTest, KilledAtAnyByteOfACommitGoesOn) {
  write();
  const std::string lines = content(journal()), states = content(store());
  std::string earlier_lines, earlier_states;
  {
    std::size_t end = 0;
    for (std::size_t i = 0; i < (kGroups - 1) * kEach; ++i) end = lines.find('\n', end) + 1;
    earlier_lines = lines.substr(0, end);
    const std::string mark = "\"offset\":";
    const std::size_t first = lines.find(mark, end) + mark.size();
    earlier_states = states.substr(0, std::stoul(lines.substr(first)));
  }
  const int before = (kGroups - 1) * kEach;
  // The last commit again, as far as it is missing.
  const auto go_on = [&](int there_already) {
    AnswerLog log = open();
    for (std::size_t i = static_cast<std::size_t>(there_already); i < kGroups * kEach; ++i)
      log.append(1, answer(i));
    log.commit();
  };

  for (std::size_t n = earlier_states.size(); n <= states.size(); ++n) {
    put(earlier_lines, states.substr(0, n));
    ASSERT_EQ(there(open()), before) << n;
    ASSERT_EQ(content(store()), states.substr(0, n)) << n;
    ASSERT_EQ(content(journal()), earlier_lines) << n;
    go_on(before);
    ASSERT_EQ(content(journal()) + content(store()), lines + states);
  }
  for (std::size_t n = earlier_lines.size(); n <= lines.size(); ++n) {
    put(lines.substr(0, n), states);
    // A line that lacks nothing but its end is whole.
    const auto whole = std::count(lines.begin(), lines.begin() + static_cast<long>(n), '\n') +
                       (n < lines.size() && lines[n] == '\n' ? 1 : 0);
    ASSERT_EQ(there(open()), whole) << n;
    if (n % 50 != 0) continue;  // a commit takes its time
    go_on(static_cast<int>(whole));
    ASSERT_EQ(content(store()), states) << n;
    ASSERT_EQ(there(open()), static_cast<int>(kGroups * kEach)) << n;
  }
}

// A power cut may keep the journal's part of the last commit and lose some of the store's.
TEST_F(AnswerLogTest, DropsAnswersOfTheLastCommitThatHaveNoState) {
  write();
  const std::string lines = content(journal()), states = content(store());
  std::vector<std::size_t> ends;  // of the states: answer 3 has none
  for (std::size_t i = 0, end = 16; i < kGroups * kEach; ++i)
    ends.push_back(end += 8 * answer(i).state.size());
  ASSERT_EQ(ends.back(), states.size());
  const std::size_t first = (kGroups - 1) * kEach, begin = ends[first - 1];

  for (std::size_t n = 16; n < states.size(); ++n)
    for (const bool zeros : {false, true}) {
      // What was forced to disk before is there; of the rest some is, or reads as zeros.
      std::string left = states.substr(0, n);
      if (zeros) left.resize(states.size(), '\0');
      put(lines, left);
      if (n < begin) {  // what was forced to disk before is gone: damage
        if (!zeros) {
          const std::string message = error_text(ErrorKind::data, [&] { open(); });
          ASSERT_NE(message.find("answers.bin is cut off"), std::string::npos) << message;
          ASSERT_EQ(content(journal()), lines);
        }
        continue;
      }
      std::size_t whole = first;
      while (whole < ends.size() && ends[whole] <= n) ++whole;
      const AnswerLog log = open();
      ASSERT_EQ(there(log), static_cast<int>(whole)) << n << " " << zeros;
      ASSERT_EQ(log.dropped(), kGroups * kEach - whole);
    }
}

// Every changed byte of what was forced to disk is found when it is read, or before.
TEST_F(AnswerLogTest, FindsDamageOfTheStore) {
  write();
  {
    AnswerLog log = open();
    log.note("ledger", config::Value(config::Value::Map{}));
  }
  const std::string lines = content(journal()), states = content(store());

  for (std::size_t i = 0; i < states.size(); ++i) {
    std::string bad = states;
    bad[i] = static_cast<char>(bad[i] ^ 16);
    put(lines, bad);
    const std::string message = error_text(ErrorKind::data, [&] {
      const AnswerLog log = open();
      const LoggedAnswers answers = log.recorded(1);
      for (std::size_t k = 0; k < kGroups * kEach; ++k) answers.find(100 + k, k % 3);
    });
    ASSERT_NE(message.find("answers.bin"), std::string::npos) << message;
    if (i >= 16) {
      ASSERT_NE(message.find("the state at bytes "), std::string::npos) << message;
    }
  }
}

TEST_F(AnswerLogTest, AnotherRunsStoreOrJournalIsRefused) {
  write();
  const std::string lines = content(journal()), states = content(store());

  put(lines, "");
  error_text(ErrorKind::data, [&] { open(); });
  put(lines, "something else entirely");
  EXPECT_NE(error_text(ErrorKind::data, [&] { open(); }).find("answers/1"), std::string::npos);
  EXPECT_EQ(content(store()), "something else entirely");
}

TEST_F(AnswerLogTest, AnswersCanBeLookedAtWhileTheyAreMade) {
  AnswerLog log = open();
  log.append(4, answer(3));
  log.commit();
  std::vector<AnswerRecord> seen;

  read_answers(journal(), [&](std::size_t acquisition, const AnswerRecord& a) {
    EXPECT_EQ(acquisition, 4u);
    seen.push_back(a);
  });

  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].status, Answer::Status::failed);
  EXPECT_EQ(seen[0].reason, "too \"steep\"\n");
  EXPECT_EQ(seen[0].seconds, answer(3).seconds);
}

// Broken by: states that are read where those of a dropped line were.
TEST_F(AnswerLogTest, AnAnswerThatWasDroppedLeavesTheOthersWhereTheyAre) {
  write();
  ASSERT_TRUE(rewrite_journal(journal(), [](const SalvagedLine& line) -> std::optional<NewLine> {
    if (line.sequence != 1) return std::nullopt;
    return NewLine{"dropped", config::Value(config::Value::Map{})};
  }));

  AnswerLog log = open();
  log.append(1, answer(1));
  log.commit();

  EXPECT_EQ(check_answers(journal(), store()), 0u);
  EXPECT_EQ(there(log), static_cast<int>(kGroups * kEach));
}

}  // namespace
}  // namespace stap
