#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "commands.h"
#include "progress_text.h"
#include "stap/core/observer.h"

namespace stap::app {

/// Shows events on stderr: a bar on a terminal, a few lines otherwise. With --quiet only warnings
/// are shown.
class Console : public Observer {
 public:
  explicit Console(const Globals& globals);
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void progress(const Progress& event) override;
  void warning(std::string_view text) override;
  /// Not shown with --quiet.
  void note(std::string_view text) override;
  /// Before results are printed: ends an open bar, or shows how far a log last was.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const ProgressText& text, Clock::time_point now);
  void log(const ProgressText& text, Clock::time_point now);
  void end_bar();
  std::string time_left(const Progress& event, Clock::time_point now);

  bool quiet_;
  bool terminal_;
  std::string last_warning_;
  bool bar_open_ = false;  ///< the cursor stands in a line that will be overwritten
  std::string drawn_, drawn_phase_;
  Clock::time_point drawn_at_;
  LogPace pace_;
  std::string held_;  ///< what a log was not told yet
  /// Where work stood when it was first seen, to tell the time left; by its unit, since the solver
  /// and training take turns.
  struct Pace {
    Clock::time_point since;
    double since_part = 2.0, last_part = 2.0;
  };
  std::map<std::string, Pace, std::less<>> paces_;
};

/// Of stderr, if that is a terminal that can colour words and overwrite lines. Asked for whatever
/// is drawn: windows change. One column less than there are, as the last one wraps.
struct TerminalSize {
  std::size_t columns = 79, rows = 24;
};
std::optional<TerminalSize> terminal_size();

/// The word in an ANSI colour if stderr may have one: a terminal, and NO_COLOR unset or empty.
std::string painted(std::string_view word, int ansi_colour);
inline constexpr int kRed = 31;
inline constexpr int kYellow = 33;

}  // namespace stap::app
