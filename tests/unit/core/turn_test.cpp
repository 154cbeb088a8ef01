#include "core/turn.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "support/contains.h"
#include "support/data_making.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using std::chrono::milliseconds;
using test::content;
using test::TemporaryFolder;

TEST(Turn, IsOnesAtATime) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("a/b");
  TurnTaker first(folder), second(folder);

  auto turn = first.take();
  ASSERT_TRUE(turn);
  EXPECT_FALSE(turn->lost());
  EXPECT_FALSE(second.take());
  EXPECT_TRUE(test::contains(second.owner(), "process " + std::to_string(getpid()) + " on "));
  turn.reset();

  EXPECT_TRUE(second.take());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Turn, OfADeadProcessIsTakenAtOnce) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("a");
  const pid_t child = test::in_process([&] {
    const auto turn = TurnTaker(folder).take();
    raise(SIGKILL);
  });
  test::wait_for(child);
  ASSERT_TRUE(std::filesystem::exists(folder + "/maker"));

  EXPECT_TRUE(TurnTaker(folder).take());
}

// One on another machine: nobody can tell but by its silence.
TEST(Turn, OfOneThatIsSilentIsTakenAndItFindsOut) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("a");
  auto asleep = TurnTaker(folder, milliseconds(20)).take();
  const std::string elsewhere = "n7 another-machine 4711 99 000000000001\n";
  // Its own signs of life go to a file that is not there any more.
  std::filesystem::rename(folder + "/maker", folder + "/kept");
  std::ofstream(folder + "/maker") << elsewhere;
  TurnTaker taker(folder, milliseconds(5));

  EXPECT_FALSE(taker.take());
  EXPECT_EQ(taker.owner(), "process 4711 on n7");
  std::unique_ptr<Turn> turn;
  while (!(turn = taker.take())) std::this_thread::sleep_for(milliseconds(1));

  EXPECT_FALSE(turn->lost());
  EXPECT_NE(content(folder + "/maker"), elsewhere);
  while (!asleep->lost()) std::this_thread::sleep_for(milliseconds(1));
  asleep.reset();
  EXPECT_TRUE(std::filesystem::exists(folder + "/maker"));  // which is not its own
}

// Mutation that breaks it: a take that does not keep others away.
TEST(Turn, NeverTwoAtTheSameTime) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("a");
  std::atomic<int> inside{0}, most{0}, turns{0};
  const auto work = [&] {
    TurnTaker taker(folder, std::chrono::seconds(5));  // a machine may be busy for long
    for (int own = 0; own < 10;) {
      const auto turn = taker.take();
      if (!turn) {
        std::this_thread::yield();
        continue;
      }
      most = std::max(most.load(), ++inside);
      std::this_thread::yield();
      --inside;
      ++own;
      ++turns;
    }
  };

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(most, 1);
  EXPECT_EQ(turns, 40);
}

}  // namespace
}  // namespace stap
