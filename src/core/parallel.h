#pragma once

#include <cstddef>
#include <functional>

namespace stap {

/// What cannot be done without a thread of its own: tried for 1.5 s while the system has none to
/// give (`start` throws what std::thread does). Throws Error(storage) then.
void start_thread(const std::function<void()>& start);

/// Threads to use when 0 ("all") or more were asked for.
int thread_count(int asked);

/// What parallel_for hands to the threads: call(work, task, thread).
using ParallelCall = void (*)(const void* work, std::size_t task, int thread);
void run_parallel(int threads, std::size_t tasks, ParallelCall call, const void* work);

/// work(task, thread) for task = 0 .. tasks-1, in any order, on up to `threads` threads (thread =
/// 0 .. threads-1; 0 is the caller's). `work` must not throw; tasks must not depend on each other.
/// A loop inside a loop, or beside one of another thread, runs on its caller's thread alone.
template <class Work>
void parallel_for(int threads, std::size_t tasks, const Work& work) {
  run_parallel(
      threads, tasks,
      [](const void* w, std::size_t task, int thread) {
        (*static_cast<const Work*>(w))(task, thread);
      },
      &work);
}

}  // namespace stap
