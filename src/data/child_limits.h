// What a process that reads a foreign file may take and do.
#pragma once

#include <cstdint>

namespace stap::h5 {

/// The most that values of a file of this size can take: the strongest of HDF5's own filters
/// (deflate) makes a file at most 1032 times smaller, and even an empty one may hold a small
/// dataset that was never written.
std::uint64_t most_bytes(std::uint64_t bytes);

/// For the child, before it opens the file: no output but to `out`, no core dump, few descriptors,
/// an end with its parent, room for 256 MiB and twice the file, 2 s of computing and one more for
/// every 32 MiB of the file. Where the kernel can, no system calls but those that reading takes:
/// nothing is started, sent, or written to other descriptors.
void limit_child(std::uint64_t bytes, int out);

/// Room and time for this many bytes more, which the file says it has and which it can have. Does
/// nothing in a process without those limits.
void allow_bytes(std::uint64_t bytes);
/// The same of time alone, for what takes no more room.
void allow_seconds_for(std::uint64_t bytes);

}  // namespace stap::h5
