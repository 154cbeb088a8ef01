#include "console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "duration.h"
#include "standard_streams.h"
#include "stap/core/shown_text.h"

namespace stap::app {
namespace {

constexpr double kOtherWork = 0.1;  // a part that falls by more is that of something else

// One that can colour words and overwrite a line.
bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && (!kind || std::string_view(kind) != "dumb");
}

}  // namespace

std::optional<TerminalSize> terminal_size() {
  if (!is_terminal()) return std::nullopt;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  return TerminalSize{(known && size.ws_col > 1 ? size.ws_col : 80u) - 1u,
                      known && size.ws_row > 0 ? size.ws_row : 24u};
}

std::string painted(std::string_view word, int ansi_colour) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool colour = is_terminal() && (!no_color || *no_color == '\0');
  return colour ? fmt::format("\033[{}m{}\033[0m", ansi_colour, word) : std::string(word);
}

Console::Console(const Globals& globals)
    : quiet_(globals.quiet), terminal_(is_terminal()), pace_(Clock::now()) {}

Console::~Console() {
  finish();
}

void Console::progress(const Progress& event) {
  if (quiet_ || event.total == 0) return;
  const Clock::time_point now = Clock::now();
  const ProgressText text{.phase = std::string(event.phase),
                          .done = event.done,
                          .total = event.total,
                          .unit = std::string(event.unit),
                          .left = time_left(event, now),
                          .last_warning = last_warning_};
  if (terminal_)
    draw(text, now);
  else
    log(text, now);
}

void Console::warning(std::string_view text) {
  end_bar();
  last_warning_ = printable(text);
  write_to_terminal(fmt::format("{} {}\n", painted("warning:", kYellow), last_warning_));
}

void Console::note(std::string_view text) {
  end_bar();
  if (!quiet_) write_stderr(fmt::format("{}\n", text));
}

void Console::finish() {
  end_bar();
  if (!held_.empty()) write_stderr(std::exchange(held_, "") + "\n");
}

// "12 s", from the pace since this work was first seen; nothing while that says little. The same
// work may turn out a little larger or smaller.
std::string Console::time_left(const Progress& event, Clock::time_point now) {
  const double part = static_cast<double>(event.done) / static_cast<double>(event.total);
  Pace& pace = paces_[std::string(event.unit)];
  if (part < pace.last_part - kOtherWork) pace = {now, part, part};
  pace.last_part = part;
  const double seconds = std::chrono::duration<double>(now - pace.since).count();
  if (part - pace.since_part < 0.01 || seconds < 0.5 || event.done == event.total) return "";
  const double left = seconds * (1 - part) / (part - pace.since_part);
  return duration_text(left);
}

void Console::draw(const ProgressText& text, Clock::time_point now) {
  const bool complete = text.done == text.total;
  const bool soon = now - drawn_at_ < std::chrono::milliseconds(100);
  if (soon && !complete && text.phase == drawn_phase_) return;
  const std::string line = bar_line(text, terminal_size().value_or(TerminalSize{}).columns);
  if (line == drawn_) return;
  write_to_terminal("\r\033[K" + line);
  bar_open_ = true;
  drawn_ = line;
  drawn_phase_ = text.phase;
  drawn_at_ = now;
  if (complete) end_bar();
}

void Console::log(const ProgressText& text, Clock::time_point now) {
  switch (pace_.judge(text.phase, text.done, text.total, now)) {
    case LogPace::Verdict::show:
      write_stderr(log_line(text) + "\n");
      held_.clear();
      break;
    case LogPace::Verdict::later:
      held_ = log_line(text);
      break;
    case LogPace::Verdict::never:
      break;
  }
}

void Console::end_bar() {
  if (bar_open_) write_stderr("\n");
  bar_open_ = false;
}

}  // namespace stap::app
