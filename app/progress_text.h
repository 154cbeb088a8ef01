#pragma once

// What Console shows of progress, apart from where it goes: text, and when a log gets a line.

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace stap::app {

struct ProgressText {
  std::string phase;
  std::size_t done = 0, total = 0;
  std::string unit = {};          ///< "trajectories"; may be empty
  std::string left = {};          ///< "12 s"; empty: not known
  std::string last_warning = {};  ///< empty: none
};

/// At most its first `columns` characters.
std::string cut_to(std::string text, std::size_t columns);

/// "pool: 40 % of 30 trajectories, 12 s left".
std::string log_line(const ProgressText& text);

/// "pool [####      ] 40 % of 30 trajectories, 12 s left; warning: ...", of at most `columns`
/// characters. Where there is less room the bar gets smaller, then the warning goes, then the bar,
/// then the time left; then the phase is cut. Never a part of a warning.
std::string bar_line(const ProgressText& text, std::size_t columns);

/// Which lines go to a log, so that it stays short however often and long phases are repeated: a
/// line per tenth of a phase, none twice, and none sooner after the last one than a twentieth of
/// the time since the start, at least a second and at most ten minutes.
class LogPace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Verdict { show, later, never };

  explicit LogPace(Time start) : start_(start) {}
  /// show: counts as shown. later: too soon, show it if the work ends here. `total` is not 0.
  Verdict judge(const std::string& phase, std::size_t done, std::size_t total, Time now);

 private:
  Time start_;
  Time last_{};
  std::map<std::string, std::size_t> tenths_;  ///< the last one shown, by phase
};

}  // namespace stap::app
