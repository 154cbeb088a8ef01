#include "stap/journal/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

#include "reference/crc32c.h"
#include "stap/core/error.h"
#include "stap/core/lock_holder.h"
#include "support/contains.h"
#include "support/data_making.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::error_text;
using test::TemporaryFolder;

config::Value body(int number) {
  config::Value value;
  value.set("number", number);
  return value;
}

// What a journal hands on when it is opened.
std::vector<JournalLine> lines_of(const std::string& path) {
  std::vector<JournalLine> lines;
  const Journal journal(
      path, [&](JournalLine&& line, const std::string&) { lines.push_back(std::move(line)); });
  return lines;
}

std::vector<JournalLine> looked_at(const std::string& path) {
  std::vector<JournalLine> lines;
  read_journal(path,
               [&](JournalLine&& line, const std::string&) { lines.push_back(std::move(line)); });
  return lines;
}

void append(const std::string& path, const char* type, const config::Value& value) {
  Journal journal(path);
  journal.append(type, value);
  journal.commit();
}

TEST(Journal, KeepsWhatWasCommitted) {
  const TemporaryFolder folder;
  {
    Journal journal(folder.path("j"));
    journal.append("answer", body(1));
    journal.append("ledger", body(2));
    journal.commit();
    journal.append("lost", body(3));  // never committed
  }

  const auto lines = lines_of(folder.path("j"));

  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].sequence, 1u);
  EXPECT_EQ(lines[1].offset, content(folder.path("j")).find('\n') + 1);
  EXPECT_EQ(lines[1].type, "ledger");
  EXPECT_EQ(lines[1].body, body(2));
}

TEST(Journal, NothingIsWrittenBeforeTheCommit) {
  const TemporaryFolder folder;
  Journal journal(folder.path("j"));

  journal.append("a", body(1));
  const std::string before = content(folder.path("j"));
  journal.commit();

  EXPECT_EQ(before, "");
  EXPECT_EQ(looked_at(folder.path("j")).size(), 1u);
}

// Lines longer than what is read at once, and longer than any YAML document.
TEST(Journal, ReadsLongLines) {
  const TemporaryFolder folder;
  config::Value large = body(1);
  large.set("text", std::string(3 * config::kMaxYamlBytes + 1, 'A'));
  append(folder.path("j"), "a", body(0));
  append(folder.path("j"), "b", large);
  append(folder.path("j"), "c", body(2));

  const auto lines = lines_of(folder.path("j"));

  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].body, large);
  EXPECT_EQ(lines[2].body, body(2));
}

// A crash may cut the last line anywhere: what was whole before stays, and the journal goes on.
TEST(Journal, DropsATornLastLineWhereverItWasCut) {
  const TemporaryFolder folder;
  append(folder.path("j"), "a", body(1));
  const std::string one = content(folder.path("j"));
  append(folder.path("j"), "b", body(2));
  const std::string two = content(folder.path("j"));

  for (std::size_t n = one.size(); n + 1 < two.size(); ++n) {
    folder.file("j", two.substr(0, n));
    ASSERT_EQ(lines_of(folder.path("j")).size(), 1u) << n;
    ASSERT_EQ(content(folder.path("j")), two.substr(0, n)) << n;  // who only looks changes nothing
    append(folder.path("j"), "b", body(2));
    ASSERT_EQ(content(folder.path("j")), two) << n;
  }
  folder.file("j", two.substr(0, two.size() - 1));  // all but the line break: nothing is lost
  EXPECT_EQ(looked_at(folder.path("j")).size(), 2u);
  EXPECT_EQ(lines_of(folder.path("j")).size(), 2u);
  Journal(folder.path("j")).commit();
  EXPECT_EQ(content(folder.path("j")), two);
  folder.file("j", one);
  append(folder.path("j"), "b", body(2));
  EXPECT_EQ(content(folder.path("j")), two);
}

// A file of the same name that is none of ours is neither cut nor written to.
TEST(Journal, LeavesOtherPeoplesFilesAlone) {
  const TemporaryFolder folder;
  for (const char* text : {"my notes", "{\"mine\":1}", "{\"mine\":1}\n"}) {
    folder.file("j", text);
    EXPECT_NE(error_text(ErrorKind::data, [&] { Journal(folder.path("j")); }).find("j, line 1"),
              std::string::npos);
    EXPECT_EQ(content(folder.path("j")), text);
  }
}

// Not even an empty one, by a link in the place of ours.
TEST(Journal, IsNotWrittenThroughALink) {
  const TemporaryFolder folder;
  const std::string theirs = folder.file("theirs", "");
  ASSERT_EQ(symlink(theirs.c_str(), folder.path("journal.jsonl").c_str()), 0);

  const std::string text = error_text(
      ErrorKind::storage, [&] { Journal(folder.path("journal.jsonl")).append("x", body(1)); });

  EXPECT_NE(text.find("symbolic links"), std::string::npos) << text;
  EXPECT_EQ(content(theirs), "");
}

// The child of a killed process has its descriptors, and so its lock. Breaks if a lock that is held
// is taken for a living holder.
TEST(Journal, WaitsForWhatADeadHolderLeftBehind) {
  const TemporaryFolder folder;
  const std::string path = folder.path("journal.jsonl");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const Journal journal(path);
    if (fork() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      _exit(0);
    }
    const ssize_t told = write(ready[1], "x", 1);
    for (; told == 1;) pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_TRUE(test::readable(ready[0]));
  ASSERT_EQ(read(ready[0], &byte, 1), 1);

  EXPECT_THROW(Journal{path}, InUse);
  kill(holder, SIGKILL);
  test::wait_for(holder);
  EXPECT_NO_THROW(Journal{path});

  close(ready[0]);
  close(ready[1]);
}

// Readers neither need the lock nor change the file, torn end or not.
TEST(Journal, CanBeReadWhileItIsInUse) {
  const TemporaryFolder folder;
  Journal journal(folder.path("j"));
  journal.append("a", body(1));
  journal.commit();
  const std::string torn = content(folder.path("j")) + "{\"crc\":\"00";
  folder.file("torn", torn);

  const auto lines = looked_at(folder.path("j"));
  const auto whole_ones = looked_at(folder.path("torn"));

  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].body, body(1));
  EXPECT_EQ(whole_ones.size(), 1u);
  EXPECT_EQ(content(folder.path("torn")), torn);
  error_text(ErrorKind::data, [&] { looked_at(folder.path("none")); });
}

// Every single changed byte of a whole line is found, and told by its line.
TEST(Journal, FindsDamage) {
  const TemporaryFolder folder;
  append(folder.path("j"), "a", body(1));
  append(folder.path("j"), "b", body(2));
  const std::string good = content(folder.path("j"));
  const std::size_t first = good.find('\n');

  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder.file("j", bad);
    const std::string where = i <= first ? "j, line 1" : "j, line 2";
    for (const auto& open : {lines_of, looked_at})
      EXPECT_NE(error_text(ErrorKind::data, [&] { open(folder.path("j")); }).find(where),
                std::string::npos)
          << i;
    EXPECT_EQ(content(folder.path("j")), bad);
  }
  folder.file("j", good.substr(first + 1));  // a line is missing
  error_text(ErrorKind::data, [&] { Journal(folder.path("j")); });
}

// Of a journal of three lines, which hold 1, 2 and 3: what is in it once damaged ones are replaced.
std::vector<int> numbers_of(const std::string& path) {
  std::vector<int> numbers;
  for (const JournalLine& line : looked_at(path))
    numbers.push_back(line.type == "gone" ? 0 : *line.body.find("number")->integer<int>());
  return numbers;
}

// Broken by: a whole line that goes with its damaged neighbour, when a line break is gone or there
// is one too many; one that is believed though a byte of it was changed; numbers that move.
TEST(Journal, DamagedLinesAreReplacedAndNoOther) {
  const TemporaryFolder folder;
  const std::string path = folder.path("j");
  for (int i = 1; i <= 3; ++i) append(path, "a", body(i));
  const std::string good = content(path);
  const auto gone = [](const SalvagedLine& line) -> std::optional<NewLine> {
    if (line.whole) return std::nullopt;
    return NewLine{"gone", config::Value(config::Value::Map{})};
  };
  EXPECT_FALSE(rewrite_journal(path, gone));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const char to : {static_cast<char>(good[i] ^ 1), good[i] == '\n' ? ' ' : '\n'}) {
      std::string bad = good;
      bad[i] = to;
      folder.file("j", bad);
      std::vector<int> expected{1, 2, 3};
      if (good[i] != '\n') expected[std::ranges::count(good.substr(0, i), '\n')] = 0;

      ASSERT_TRUE(rewrite_journal(path, gone)) << i;

      ASSERT_EQ(numbers_of(path), expected) << i;
    }
  // Two at once, of which nothing is left; the end, cut off by a crash; all of it; others' lines.
  const std::size_t second = good.find('\n') + 1;
  folder.file("j", good.substr(0, 5) + "\n" + good.substr(good.find('\n', second) + 1));
  ASSERT_TRUE(rewrite_journal(path, gone));
  EXPECT_EQ(numbers_of(path), (std::vector<int>{0, 0, 3}));
  folder.file("j", "x" + good.substr(1, good.size() - 9));
  ASSERT_TRUE(rewrite_journal(path, gone));
  EXPECT_EQ(numbers_of(path), (std::vector<int>{0, 2}));
  folder.file("j", "nothing\n");
  EXPECT_FALSE(rewrite_journal(path, gone));
  EXPECT_EQ(content(path), "nothing\n");
  folder.file("j", good + good);
  error_text(ErrorKind::data, [&] { rewrite_journal(path, gone); });
  // One that is not replaced stops it.
  folder.file("j", "x" + good.substr(1));
  EXPECT_FALSE(rewrite_journal(path, [](const SalvagedLine&) { return std::nullopt; }));
  EXPECT_EQ(content(path), "x" + good.substr(1));
}

TEST(Journal, CanBeCutAtALine) {
  const TemporaryFolder folder;
  append(folder.path("j"), "a", body(1));
  const std::string one = content(folder.path("j"));
  append(folder.path("j"), "b", body(2));
  const std::string two = content(folder.path("j"));
  {
    Journal journal(folder.path("j"));

    journal.cut(1, one.size());
    int left = 0;
    journal.read([&](JournalLine&&, const std::string&) { ++left; });
    EXPECT_EQ(left, 1);
    journal.append("b", body(2));
    journal.commit();
  }

  EXPECT_EQ(content(folder.path("j")), two);
}

// Seen through a line made by hand with a second implementation of the checksum.
TEST(Journal, ChecksumIsCrc32c) {
  const std::string rest = R"("seq":0,"type":"t","body":{"x":1}})";
  char checksum[9];
  std::snprintf(checksum, sizeof checksum, "%08x",
                test::crc32c_slow(std::as_bytes(std::span(rest))));
  const TemporaryFolder folder;
  folder.file("j", std::string("{\"crc\":\"") + checksum + "\"," + rest + "\n");

  EXPECT_EQ(lines_of(folder.path("j")).at(0).type, "t");
}

TEST(Journal, PlacesThatCannotBeWrittenAreStorageErrors) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);

  for (const std::string& path : {folder.path("no/such/folder/j"), folder.path("fifo"),
                                  folder.path().string(), std::string("/dev/null")})
    error_text(ErrorKind::storage, [&] { Journal journal(path); });
}

// What cannot be read is not known to be torn.
TEST(Journal, IsNotCutIfItCannotBeRead) {
  const TemporaryFolder folder;
  append(folder.path("j"), "a", body(1));
  const std::string text = content(folder.path("j")) + "{\"crc";
  folder.file("j", text);
  const uid_t me = geteuid();
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(folder.path("j").c_str(), 0222), 0);
  ASSERT_EQ(seteuid(me == 0 ? 65534 : me), 0);  // permissions do not apply to root

  error_text(ErrorKind::storage, [&] { Journal(folder.path("j")); });

  ASSERT_EQ(seteuid(me), 0);
  ASSERT_EQ(chmod(folder.path("j").c_str(), 0644), 0);
  EXPECT_EQ(content(folder.path("j")), text);
}

// A disk that fills up (here: a limit on the size of files): whole lines stay, the journal takes no
// more, and the next one goes on behind them.
TEST(Journal, AFullDiskLosesNothingThatWasCommitted) {
  const TemporaryFolder folder;
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{1000, limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    Journal journal(folder.path("j"));
    journal.append("a", body(1));
    journal.commit();
    config::Value large = body(2);
    large.set("text", std::string(2000, 'A'));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    journal.append("b", large);
    error_text(ErrorKind::storage, [&] { journal.commit(); });
    setrlimit(RLIMIT_FSIZE, &limit);
    journal.append("c", body(3));
    error_text(ErrorKind::storage, [&] { journal.commit(); });
  }
  std::signal(SIGXFSZ, old_handler);

  append(folder.path("j"), "d", body(4));
  const auto lines = lines_of(folder.path("j"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].type, "a");
  EXPECT_EQ(lines[1].type, "d");
}

TEST(Journal, IsLockedWhileItIsOpenAndSaysByWhom) {
  const TemporaryFolder folder;
  std::optional<Journal> first(folder.path("j"));
  const std::string us = "process " + std::to_string(getpid()) + " on ";

  const std::string message = error_text(ErrorKind::storage, [&] { Journal(folder.path("j")); });
  EXPECT_TRUE(test::contains(message, "in use by " + us));
  EXPECT_TRUE(test::contains(message, "since 20"));
  // Never ours to remove: it runs.
  EXPECT_TRUE(test::contains(
      error_text(ErrorKind::storage, [&] { unlock_folder(folder.path(), true); }), us));

  first.reset();
  EXPECT_FALSE(lock_holder(folder.path()));
  EXPECT_EQ(Journal(folder.path("j")).left_by(), "");
}

// A lock of a process that was killed does not keep the next one out, and is told.
TEST(Journal, TakesOverFromAProcessThatIsGone) {
  const TemporaryFolder folder;
  const pid_t child = test::in_process([&] {
    const Journal journal(folder.path("j"));
    raise(SIGKILL);
  });
  test::wait_for(child);
  ASSERT_TRUE(lock_holder(folder.path()));
  EXPECT_TRUE(lock_holder(folder.path())->gone);

  const Journal journal(folder.path("j"));
  EXPECT_TRUE(test::contains(journal.left_by(), "process " + std::to_string(child) + " on "));
}

// Nobody can tell whether a process of another machine lives, but by its signs of life.
TEST(Journal, OfAnotherMachineIsLockedUntilItIsSilent) {
  const TemporaryFolder folder;
  const auto lock_elsewhere = [&](int process, int seconds_ago, const std::string& silence) {
    folder.file("lock.json",
                R"({"format": "lock/1", "host": "n3", "since": "2026-01-02 03:04:05 UTC", )"
                R"("place": "elsewhere", "machine": "another", "start": "99", "process": )" +
                    std::to_string(process) + silence + "}");
    const auto now = std::filesystem::last_write_time(folder.path("lock.json"));
    std::filesystem::last_write_time(folder.path("lock.json"),
                                     now - std::chrono::seconds(seconds_ago));
  };
  const auto open = [&] { return Journal(folder.path("j")).left_by(); };
  const std::string on = " on n3, since 2026-01-02 03:04:05 UTC", who = "process 7" + on;

  lock_elsewhere(7, 25, "");
  const std::string refusal = error_text(ErrorKind::storage, open);
  EXPECT_TRUE(test::contains(refusal, "in use by " + who));
  EXPECT_TRUE(test::contains(refusal, "stap unlock --force " + folder.path().string()));
  error_text(ErrorKind::storage, [&] { unlock_folder(folder.path(), false); });
  EXPECT_EQ(unlock_folder(folder.path(), true)->text(), who);
  EXPECT_EQ(open(), "");

  lock_elsewhere(8, 35, R"(, "silence": 0.2)");
  EXPECT_EQ(open(), "process 8" + on);
  lock_elsewhere(9, 35, R"(, "silence": 0.2)");
  EXPECT_EQ(unlock_folder(folder.path(), false)->text(), "process 9" + on);
  EXPECT_FALSE(lock_holder(folder.path()));
}

// `cp -a` of a folder in use: whoever works in the first one does not in the copy.
TEST(Journal, ACopyOfALockKeepsNobodyOut) {
  const TemporaryFolder folder, copy;
  const Journal first(folder.path("j"));
  std::filesystem::copy_file(folder.path("lock.json"), copy.path("lock.json"));
  ASSERT_TRUE(lock_holder(folder.path())->lives_here);

  EXPECT_TRUE(lock_holder(copy.path())->copied);
  EXPECT_EQ(Journal(copy.path("j")).left_by(), "");
  std::filesystem::copy_file(folder.path("lock.json"), copy.path("lock.json"));
  EXPECT_TRUE(unlock_folder(copy.path(), false));
}

TEST(Journal, OneThatCannotBeReadHasAReason) {
  const TemporaryFolder folder;
  test::expect_error(ErrorKind::data, "No such file", [&] { looked_at(folder.path("none")); });
  test::expect_error(ErrorKind::data, "is not a file", [&] { looked_at(folder.path()); });
}

}  // namespace
}  // namespace stap
