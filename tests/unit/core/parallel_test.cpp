#include "core/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

namespace stap {
namespace {

// Each task exactly once, thread numbers in range, for loops that follow each other at once: a
// helper that wakes late must not take part in the wrong loop.
TEST(ParallelFor, DoesEveryTaskOnceInManyLoops) {
  for (int threads : {1, 2, 3, 7})
    for (std::size_t loop = 0; loop < 2000; ++loop) {
      const std::size_t tasks = loop % 13;
      std::vector<int> done(tasks, 0);
      std::atomic<int> strange{0};

      parallel_for(threads, tasks, [&](std::size_t task, int thread) {
        ++done[task];  // one writer each, or the loop is wrong
        if (thread < 0 || thread >= threads) ++strange;
      });

      for (std::size_t task = 0; task < tasks; ++task) ASSERT_EQ(done[task], 1) << loop;
      ASSERT_EQ(strange, 0);
    }
}

TEST(ParallelFor, UsesSeveralThreadsWithNumbersOfTheirOwn) {
  std::vector<std::thread::id> who(2);
  std::atomic<int> arrived{0};

  // Two tasks that wait for each other can only end on two threads.
  parallel_for(2, 2, [&](std::size_t, int thread) {
    who[static_cast<std::size_t>(thread)] = std::this_thread::get_id();
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });

  EXPECT_NE(who[0], who[1]);
  EXPECT_EQ(who[0], std::this_thread::get_id());
}

TEST(ParallelFor, LoopsInsideAndBesideALoopWork) {
  std::atomic<int> inner{0};
  parallel_for(3, 5, [&](std::size_t, int) {
    parallel_for(3, 4, [&](std::size_t, int thread) {
      EXPECT_EQ(thread, 0);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 20);

  std::atomic<int> beside{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int loop = 0; loop < 200; ++loop)
        parallel_for(2, 3, [&](std::size_t, int) { ++beside; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(beside, 4 * 200 * 3);
}

// In a process that may have no further ones, and that is started for it: in a fork of this one,
// whatever a helper had locked just then would stay locked.
TEST(ParallelFor, DoesWithoutThreadsThatCannotBeStarted) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto work = [] {
    const rlimit none{1, 1};
    setrlimit(RLIMIT_NPROC, &none);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);  // the limit is not for root
    std::vector<int> done(1000, 0);
    parallel_for(900, done.size(), [&](std::size_t task, int) { done[task] = 1; });
    _exit(std::count(done.begin(), done.end(), 1) == 1000 ? 0 : 4);
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
}

// Broken by: giving up at the first refusal, or taking any error for a lack of threads.
TEST(StartThread, WaitsForThreadsThatTheSystemDoesNotGive) {
  int tries = 0;

  start_thread([&] {
    if (++tries < 4) throw std::system_error(EAGAIN, std::generic_category());
  });

  EXPECT_EQ(tries, 4);
  EXPECT_THROW(start_thread([] { throw std::system_error(EPERM, std::generic_category()); }),
               std::system_error);
}

}  // namespace
}  // namespace stap
