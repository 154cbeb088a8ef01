#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace stap {

/// Between two looks at what may ask to stop, for who waits for something else.
inline constexpr std::chrono::milliseconds kPatience{200};

/// Says whether work should end early. It is asked often, by whichever thread works, so it must be
/// quick, safe to ask from several threads at the same time, and must not throw; once true, it
/// stays true. Empty: never.
///
/// Who is asked to stop begins nothing new. What a solver outside this process is at work on is
/// waited for, since it is paid for, unless `now` says that not even that is wanted.
///
/// There may be a deadline, known from the beginning or all of a sudden: then nothing is begun that
/// would not be done by then, all else goes on, and what runs at the end is given up somewhat
/// before. Whoever sets one also says true shortly before it.
class StopAsked {
 public:
  using Clock = std::chrono::steady_clock;

  StopAsked() = default;
  template <class Asked>
  requires(!std::same_as<Asked, StopAsked> && std::is_invocable_r_v<bool, Asked&>)
      StopAsked(Asked asked)
      : asked_(std::move(asked)) {}
  StopAsked(std::function<bool()> asked, std::function<bool()> now,
            std::function<std::optional<Clock::time_point>()> deadline = {})
      : asked_(std::move(asked)), now_(std::move(now)), deadline_(std::move(deadline)) {}

  explicit operator bool() const { return static_cast<bool>(asked_); }
  bool operator()() const { return asked_(); }
  bool now() const { return now_ && now_(); }
  /// When all must be over; it never moves away. Empty: nobody has said so yet.
  std::optional<Clock::time_point> deadline() const {
    return deadline_ ? deadline_() : std::nullopt;
  }

 private:
  std::function<bool()> asked_, now_;
  std::function<std::optional<Clock::time_point>()> deadline_;
};

/// Thrown by work that was asked to stop and cannot be handed back in part. Nothing is wrong: what
/// was under way is given up and can be done again.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped before the end"; }
};

}  // namespace stap
