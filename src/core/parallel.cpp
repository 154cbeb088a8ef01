#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>

#include "stap/core/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Why not OpenMP: its loops end at a barrier that every thread must reach, and its threads spin
// there. On a machine that others use too, a thread that is not scheduled then stops all the rest.
// Here a helper takes part only if it wakes while there is work left; the caller waits for tasks
// under way, never for helpers. Measured on 2 cores: beside two other busy processes the engine's
// unit tests took 0.2 s (OpenMP 0.6) and three runs of the demo 28 s (32); alone 13.6 s (12.7).
namespace stap {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRest{50}, kShortMost{1500};  // where there is no thread

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Looks at a condition for some microseconds before its caller goes to sleep.
template <class Condition>
bool spin_until(const Condition& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    pause_briefly();
  }
  return false;
}

class Pool {
 public:
  void run(int threads, std::size_t tasks, ParallelCall call, const void* work) {
    {
      std::lock_guard lock(mutex_);
      start_helpers(threads - 1);
      call_ = call;
      work_ = work;
      tasks_ = tasks;
      helpers_ = threads - 1;
      next_.store(0);
      open_ = true;
      loops_.fetch_add(1);
    }
    wake_.notify_all();
    take_tasks(0);
    std::unique_lock lock(mutex_);
    open_ = false;
    lock.unlock();
    if (spin_until([&] { return active_.load() == 0; })) return;
    lock.lock();
    idle_.wait(lock, [&] { return active_.load() == 0; });
  }

  // Set while a loop is under way. No mutex: a loop inside a loop asks on the same thread.
  std::atomic_flag in_use = ATOMIC_FLAG_INIT;

 private:
  // Where the system has no more threads for us, those that there are must do.
  void start_helpers(int wanted) {
    try {
      for (; started_ < wanted && !refused_; ++started_)
        std::thread(&Pool::help, this, started_ + 1).detach();
    } catch (const std::system_error&) {
      refused_ = true;
    }
  }

  void take_tasks(int thread) {
    for (std::size_t task = next_.fetch_add(1); task < tasks_; task = next_.fetch_add(1))
      call_(work_, task, thread);
  }

  [[noreturn]] void help(int thread) {
    std::uint64_t seen = 0;
    for (;;) {
      spin_until([&] { return loops_.load() != seen; });
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return loops_.load() != seen; });
      seen = loops_.load();
      if (!open_ || thread > helpers_) continue;
      // From here on the caller waits for this helper, so the loop's fields stay as they are.
      active_.fetch_add(1);
      lock.unlock();
      take_tasks(thread);
      lock.lock();
      if (active_.fetch_sub(1) == 1) idle_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  int started_ = 0;
  // The loop under way; written under the mutex while no helper is active.
  ParallelCall call_ = nullptr;
  const void* work_ = nullptr;
  std::size_t tasks_ = 0;
  int helpers_ = 0;
  bool open_ = false;
  bool refused_ = false;  // a thread, by the system
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> loops_{0};
  std::atomic<int> active_{0};
};

// Never destroyed: its helpers sleep until the program ends.
Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

}  // namespace

void start_thread(const std::function<void()>& start) {
  for (auto begun = Clock::now();; std::this_thread::sleep_for(kRest)) try {
      return start();
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::resource_unavailable_try_again) throw;
      if (Clock::now() - begun < kShortMost) continue;
      throw Error(ErrorKind::storage,
                  "no thread can be started: fewer processes or a higher limit ('ulimit -u') may "
                  "help; the same command continues then");
    }
}

int thread_count(int asked) {
  if (asked > 0) return asked;
  const unsigned all = std::thread::hardware_concurrency();
  return all > 0 ? static_cast<int>(all) : 1;
}

void run_parallel(int threads, std::size_t tasks, ParallelCall call, const void* work) {
  const int team = static_cast<int>(std::min(tasks, static_cast<std::size_t>(threads)));
  if (threads > 1 && team > 1 && !pool().in_use.test_and_set()) {
    pool().run(team, tasks, call, work);
    pool().in_use.clear();
    return;
  }
  for (std::size_t task = 0; task < tasks; ++task) call(work, task, 0);
}

}  // namespace stap
