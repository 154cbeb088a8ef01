#pragma once

#include <omp.h>

#include <cstddef>

namespace stap {

/// Threads to use when 0 ("all") or more were asked for.
inline int thread_count(int asked) {
  return asked > 0 ? asked : omp_get_num_procs();
}

/// work(task, thread) for task = 0 .. tasks-1, in any order, on up to `threads` threads. `work`
/// must not throw; tasks must not depend on each other.
template <class Work>
void parallel_for(int threads, std::size_t tasks, const Work& work) {
  if (threads <= 1 || tasks <= 1) {
    for (std::size_t task = 0; task < tasks; ++task) work(task, 0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::size_t task = 0; task < tasks; ++task) work(task, omp_get_thread_num());
}

}  // namespace stap
