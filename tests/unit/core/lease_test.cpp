#include "core/lease.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "support/data_making.h"
#include "support/processes.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using test::content;
using test::eventually;
using test::TemporaryFolder;

constexpr double kLong = 30;  // seconds that no test takes

class LeaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<Lease> take(double silence = kLong) {
    return Lease::take(file_, silence, holder_);
  }
  bool taken_in_time() {
    return eventually([&] { return take() != nullptr; });
  }
  // What another has written, by a clock of the file system that is so far from ours.
  void write(const std::string& text, long seconds_ago = 0) const {
    std::ofstream(file_) << text;
    fs::last_write_time(file_, fs::file_time_type::clock::now() - seconds(seconds_ago));
  }

  TemporaryFolder folder_;
  std::string file_ = folder_.path("lease");
  LockHolder holder_;
};

// Who wrote a file, told by what it says.
std::string signed_by(const Owner& owner, const std::string& more = "") {
  return "{\"format\": \"lock/1\", \"host\": \"" + owner.host +
         "\", \"process\": " + std::to_string(owner.process) +
         ", \"since\": \"2026-01-02 03:04:05 UTC\", \"place\": \"" + owner.place +
         "\", \"machine\": \"" + owner.machine + "\", \"start\": \"" + owner.start + "\"" + more +
         "}\n";
}

const Owner kElsewhere{"n7", "another-boot/pid", "another", 4711, "99"};

TEST_F(LeaseTest, IsOnesAtATime) {
  auto lease = take();
  ASSERT_TRUE(lease);
  EXPECT_FALSE(lease->lost());
  EXPECT_FALSE(lease->before());
  EXPECT_FALSE(take());
  EXPECT_TRUE(holder_.lives_here);
  EXPECT_EQ(holder_.who, Owner::here().text());

  lease.reset();
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  EXPECT_TRUE(take());
}

// Mutation that breaks it: a link in the place of a file that another has made since it was looked
// at.
TEST_F(LeaseTest, NeverTwoAtTheSameTime) {
  std::atomic<int> inside{0}, most{0}, times{0};
  const auto work = [&] {
    for (int own = 0; own < 10;) {
      LockHolder holder;
      const auto lease = Lease::take(file_, kLong, holder);
      if (!lease) {
        std::this_thread::yield();
        continue;
      }
      most = std::max(most.load(), ++inside);
      std::this_thread::yield();
      --inside;
      ++own;
      ++times;
    }
  };

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(most, 1);
  EXPECT_EQ(times, 40);
}

TEST_F(LeaseTest, OfAKilledProcessIsTakenAtOnce) {
  const pid_t child = test::in_process([&] {
    const auto lease = take();
    raise(SIGKILL);
  });
  test::wait_for(child);

  const auto lease = take();
  ASSERT_TRUE(lease);
  ASSERT_TRUE(lease->before());
  EXPECT_TRUE(lease->before()->gone);
  EXPECT_TRUE(lease->before()->who.starts_with("process " + std::to_string(child) + " on "));
}

// What lies there is another's, also as commit 98ee7af wrote it: lock.json (touched only, and it
// does not say how long to wait) and the files of those who ask in a spool.
TEST_F(LeaseTest, IsTakenFromWhoeverIsGoneOrSilent) {
  enum class Then { at_once, when_watched, held };
  const Owner us = Owner::here();
  Owner another_start = us, restarted = us;
  another_start.start += "0";
  restarted.place = "boot-before/" + us.place.substr(us.place.find('/') + 1);
  // In some containers nothing tells the machine or its start, and nobody is taken for dead then.
  const Then known = us.place == "?" ? Then::held : Then::at_once;
  const std::string soon = ", \"silence\": 0.2";
  struct Case {
    const char* what;
    std::string text;
    long seconds_ago;
    Then then;
    std::string who;
  };
  const std::vector<Case> cases{
      {"a process that runs", signed_by(us), 1000, Then::held, us.text()},
      {"its number given to another", signed_by(another_start), 0, known, us.text()},
      {"before a restart", signed_by(restarted), 0, us.machine.empty() ? Then::held : known,
       us.text()},
      {"a copy", signed_by(us, ", \"device\": 1, \"inode\": 2"), 0, known, us.text()},
      {"elsewhere", signed_by(kElsewhere), 20, Then::held, "process 4711 on n7"},
      {"elsewhere, old by a clock that may have jumped", signed_by(kElsewhere), 1000, Then::held,
       "process 4711 on n7"},
      {"silent", signed_by(kElsewhere, soon), 1000, Then::when_watched, "process 4711 on n7"},
      {"silent, by a clock behind ours", signed_by(kElsewhere, soon), 0, Then::when_watched,
       "process 4711 on n7"},
      {"silent, from the future", signed_by(kElsewhere, soon), -1000, Then::when_watched,
       "process 4711 on n7"},
      {"cut off", "{", 0, Then::held, "an unknown process"},
      {"empty", "", 0, Then::held, "an unknown process"},
      {"says nonsense", R"({"host": "a", "process": -3, "silence": "soon"})", 0, Then::held,
       "an unknown process"},
      {"asks in a spool", R"({"name":"n3-7-ab","ended":false,"beat":4,"process":7})", 0, Then::held,
       "process n3-7-ab"},
      {"asked in a spool", R"({"name":"n3-7-ab","ended":true,"beat":4,"process":7})", 0,
       Then::at_once, "process n3-7-ab"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    file_ = folder_.path(one.what);
    write(one.text, one.seconds_ago);

    EXPECT_EQ(take() != nullptr, one.then == Then::at_once);
    EXPECT_EQ(holder_.who, one.who);
    EXPECT_FALSE(holder_.moved);
    EXPECT_TRUE(one.then != Then::when_watched || taken_in_time());
  }
}

// Mutation that breaks it: going by the file's age alone.
TEST_F(LeaseTest, OfOneThatLivesElsewhereIsNotTakenHoweverClocksJump) {
  Owner alive = kElsewhere;
  alive.process = 6;
  int beats = 0;
  const auto seen = eventually([&] {
    const long jump = ++beats % 2 == 0 ? 100000 : -100000;
    write(signed_by(alive, ", \"beat\": " + std::to_string(beats)), jump);
    EXPECT_FALSE(take());
    return holder_.moved;
  });

  EXPECT_TRUE(seen);
  EXPECT_FALSE(holder_.stale());
}

// Of a process that held many files, one is enough to see that it gives no signs.
TEST_F(LeaseTest, WhoWasFoundSilentIsNotWatchedAgain) {
  Owner silent = kElsewhere;
  silent.process = 5;
  write(signed_by(silent, ", \"silence\": 0.2"), 1000);
  ASSERT_TRUE(taken_in_time());

  file_ = folder_.path("second");
  write(signed_by(silent), 1000);
  EXPECT_TRUE(take());
}

TEST_F(LeaseTest, GivesSignsThatOthersSee) {
  const auto lease = take(0.2);
  const std::string first = content(file_);

  EXPECT_TRUE(eventually([&] { return content(file_) != first; }));
  EXPECT_EQ(content(file_).size(), first.size());
  EXPECT_FALSE(lease->lost());
}

// Its heart stands still, as in a process that is suspended: the first thing it does after that is
// to look. Mutation that breaks it: lost() as the last sign has found it.
TEST_F(LeaseTest, WhoWasAsleepLooksBeforeItGoesOn) {
  for (const bool removed : {true, false}) {
    auto asleep = Lease::take(file_, 0.02, holder_, std::chrono::hours(1));
    ASSERT_TRUE(asleep);
    fs::rename(file_, folder_.path("kept"));
    if (!removed) write(signed_by(kElsewhere));

    EXPECT_TRUE(eventually([&] { return asleep->lost(); }));
    asleep.reset();
    EXPECT_EQ(fs::exists(file_), !removed);  // which is not its own
  }
}

}  // namespace
}  // namespace stap
