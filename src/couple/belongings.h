// What belongs to a program that was started, found without its warden.
#pragma once

#include <sys/types.h>

#include <string>

namespace stap {

/// SIGKILL to all that a warden has started, and last to itself: its descendants, its session, and
/// whoever has `mark` ("NAME=value") in its environment. The warden is a child of ours that nobody
/// has taken, so that its number is nobody else's; 0: only what is marked. Takes 2 s at most.
void kill_belongings(pid_t warden, const std::string& mark);

}  // namespace stap
