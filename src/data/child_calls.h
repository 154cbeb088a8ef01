#pragma once

namespace stap::h5 {

/// From now on this process can make only the system calls that reading a file takes: writing goes
/// to `out`, locks are of the descriptor `file`, files are opened for reading. All else fails with
/// EPERM. Does nothing where the kernel or the processor has no such filter.
void allow_reading_only(int out, int file);

}  // namespace stap::h5
