#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace stap {

/// Says whether work should end early. It is asked often, by whichever thread works, so it must be
/// quick, safe to ask from several threads at the same time, and must not throw; once true, it
/// stays true. Empty: never.
///
/// Who is asked to stop begins nothing new. What a solver outside this process is at work on is
/// waited for, since it is paid for, unless `now` says that not even that is wanted.
class StopAsked {
 public:
  StopAsked() = default;
  template <class Asked>
  requires(!std::same_as<Asked, StopAsked> && std::is_invocable_r_v<bool, Asked&>)
      StopAsked(Asked asked)
      : asked_(std::move(asked)) {}
  StopAsked(std::function<bool()> asked, std::function<bool()> now)
      : asked_(std::move(asked)), now_(std::move(now)) {}

  explicit operator bool() const { return static_cast<bool>(asked_); }
  bool operator()() const { return asked_(); }
  bool now() const { return now_ && now_(); }

 private:
  std::function<bool()> asked_, now_;
};

/// Thrown by work that was asked to stop and cannot be handed back in part. Nothing is wrong: what
/// was under way is given up and can be done again.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped before the end"; }
};

}  // namespace stap
