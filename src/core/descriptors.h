// How many files this process may still open.
#pragma once

#include <cstddef>
#include <string>

namespace stap {

/// How many of the files that grow with a run (its journal and answers) stay open at once: a
/// quarter of the limit, at most 256. The others are opened when they are needed.
std::size_t most_logs_open();

/// Makes sure that so many more can be opened: raises the soft limit where the hard one allows it,
/// as far as 4096 only, since programs of users inherit it. Throws Error(storage) if that does not
/// do; `why` says what takes them ("a sweep of 40 runs").
void need_descriptors(std::size_t count, const std::string& why);

}  // namespace stap
