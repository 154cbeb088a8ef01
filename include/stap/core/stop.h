#pragma once

#include <exception>
#include <functional>

namespace stap {

/// Says whether work should end early. It is asked often, by whichever thread works, so it must be
/// quick, safe to ask from several threads at the same time, and must not throw; once true, it
/// stays true. Empty: never.
using StopAsked = std::function<bool()>;

/// Thrown by work that was asked to stop and cannot be handed back in part. Nothing is wrong: what
/// was under way is given up and can be done again.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped before the end"; }
};

}  // namespace stap
