#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "commands.h"
#include "stap/core/observer.h"

namespace stap::app {

/// Shows events on stderr: a bar on a terminal, a line per tenth otherwise. With --quiet only
/// warnings are shown.
class Console : public Observer {
 public:
  explicit Console(const Globals& globals);
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void progress(const Progress& event) override;
  void warning(std::string_view text) override;
  /// A line for the user that is no warning; not shown with --quiet.
  void note(std::string_view text);
  /// Ends an open bar, before results are printed.
  void finish() { end_bar(); }

 private:
  void show(const std::string& phase, std::size_t done, std::size_t total,
            const std::string& detail);
  void end_bar();
  std::string time_left(std::size_t done, std::size_t total);

  bool quiet_;
  bool terminal_;
  bool bar_open_ = false;             ///< the cursor stands in a line that will be overwritten
  std::map<std::string, int> shown_;  ///< last step shown, by phase
  /// Where the present work stood when it was first seen, to tell the time left.
  std::chrono::steady_clock::time_point since_;
  double since_part_ = 1.0;
  std::size_t since_total_ = 0;
};

/// The word in an ANSI colour if stderr may have one: a terminal, and NO_COLOR unset or empty.
std::string painted(std::string_view word, int ansi_colour);
inline constexpr int kRed = 31;
inline constexpr int kYellow = 33;

}  // namespace stap::app
