#pragma once

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

  void epoch_done(const EpochDone& event) override;
  void progress(const Progress& event) override;
  void warning(std::string_view text) override;

 private:
  void show(const std::string& phase, std::size_t done, std::size_t total,
            const std::string& detail);
  void end_bar();

  bool quiet_;
  bool terminal_;
  bool bar_open_ = false;             ///< the cursor stands in a line that will be overwritten
  std::map<std::string, int> shown_;  ///< last step shown, by phase
};

/// The word in an ANSI colour if stderr may have one: a terminal, and NO_COLOR unset or empty.
std::string painted(std::string_view word, int ansi_colour);
inline constexpr int kRed = 31;
inline constexpr int kYellow = 33;

}  // namespace stap::app
