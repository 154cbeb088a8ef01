// How a warden comes to be: a small program of its own, or a fork of this process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "couple/process.h"

namespace stap {

/// It watches over launch.argv, which gets `streams` as 0, 1 and 2 and `added` in its environment,
/// and hears us through `socket`. Throws Error(storage).
pid_t start_warden(const Launch& launch, const std::vector<std::string>& added, int socket,
                   const int (&streams)[3]);

/// What the system did not give, why, and what may help.
std::string lack_text(const char* what, int error);
/// Throws that as Error(storage).
[[noreturn]] void cannot_start(const char* what, int error);

}  // namespace stap
