#include "console.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace stap::app {
namespace {

constexpr int kBarWidth = 30;

}  // namespace

std::string painted(std::string_view word, int ansi_colour) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool colour = isatty(STDERR_FILENO) == 1 && (!no_color || *no_color == '\0') &&
                      (!terminal || std::string_view(terminal) != "dumb");
  return colour ? fmt::format("\033[{}m{}\033[0m", ansi_colour, word) : std::string(word);
}

Console::Console(const Globals& globals)
    : quiet_(globals.quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

Console::~Console() {
  end_bar();
}

void Console::progress(const Progress& event) {
  show(std::string(event.phase), event.done, event.total, time_left(event.done, event.total));
}

void Console::note(std::string_view text) {
  end_bar();
  if (!quiet_) fmt::print(stderr, "{}\n", text);
}

// ", 12 s left", from the pace since this work was first seen; nothing while that says little.
std::string Console::time_left(std::size_t done, std::size_t total) {
  if (total == 0) return "";
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const auto now = std::chrono::steady_clock::now();
  if (total != since_total_ || part < since_part_) {
    since_ = now;
    since_part_ = part;
    since_total_ = total;
  }
  const double seconds = std::chrono::duration<double>(now - since_).count();
  if (part - since_part_ < 0.01 || seconds < 0.5 || done == total) return "";
  const double left = seconds * (1 - part) / (part - since_part_);
  return left < 100    ? fmt::format(", {:.0f} s left", left)
         : left < 6000 ? fmt::format(", {:.0f} min left", left / 60)
                       : fmt::format(", {:.1f} h left", left / 3600);
}

void Console::warning(std::string_view text) {
  end_bar();
  fmt::print(stderr, "{} {}\n", painted("warning:", kYellow), text);
}

void Console::show(const std::string& phase, std::size_t done, std::size_t total,
                   const std::string& detail) {
  if (quiet_ || total == 0) return;
  // Redraw only what looks different, and keep log files short.
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const int step = static_cast<int>(part * (terminal_ ? 100 : 10));
  int& last = shown_.try_emplace(phase, -1).first->second;
  if (step == last) return;
  last = step;

  if (!terminal_) {
    fmt::print(stderr, "{}: {} of {}{}\n", phase, done, total, detail);
  } else {
    const auto filled = static_cast<int>(part * kBarWidth);
    fmt::print(stderr, "\r\033[K{} [{:#<{}}{:{}}] {} of {}{}", phase, "", filled, "",
               kBarWidth - filled, done, total, detail);
    std::fflush(stderr);
    bar_open_ = true;
    if (done == total) end_bar();
  }
  if (done == total) shown_.erase(phase);
}

void Console::end_bar() {
  if (bar_open_) std::fputc('\n', stderr);
  bar_open_ = false;
}

}  // namespace stap::app
