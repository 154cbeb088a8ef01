// Where other machines find this one.
#pragma once

#include <string>

namespace stap {

/// The numeric address of this machine that others of a job reach: what its name (SLURMD_NODENAME,
/// then that of the system) stands for; where that is the machine's own loopback, as Debian has it,
/// the address of its first interface that is up; where there is none, 127.0.0.1.
std::string reachable_address();

}  // namespace stap
