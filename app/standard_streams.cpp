#include "standard_streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <new>
#include <streambuf>
#include <string>

#include "stap/core/shown_text.h"

namespace stap::app {
namespace {

// Narrower windows break lines themselves.
constexpr std::size_t kNarrowest = 60;

}  // namespace

void occupy_standard_streams() {
  // Opened the wrong way round, so that using them is an error, as it is with closed ones. A file
  // gets the lowest free number: the stream's own, as those below are taken.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
}

namespace {

// Colours of results (stap/results/text_style.h) are not a file's, and harmless if they are.
std::string shown_text(std::string_view text, bool coloured) {
  if (!coloured) return printable(text);
  constexpr std::array<std::string_view, 5> kColours{"\033[0m", "\033[1m", "\033[2m", "\033[31m",
                                                     "\033[32m"};
  std::string shown;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('\033'), text.size());
    shown += printable(text.substr(0, at));
    text.remove_prefix(at);
    const auto* colour =
        std::ranges::find_if(kColours, [&](std::string_view one) { return text.starts_with(one); });
    const std::size_t length =
        colour != kColours.end() ? colour->size() : std::min<std::size_t>(1, text.size());
    shown += colour != kColours.end() ? std::string(*colour) : printable(text.substr(0, length));
    text.remove_prefix(length);
  }
  return shown;
}

// Hands everything on at once: what is kept back would come behind what goes to stderr.
class PrintableBuffer : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf* to) : to_(to) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::string shown = shown_text({text, static_cast<std::size_t>(count)}, coloured_);
    const auto all = static_cast<std::streamsize>(shown.size());
    return to_->sputn(shown.data(), all) == all ? count : 0;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override { return to_->pubsync(); }

 private:
  std::streambuf* to_;
  bool coloured_ = stdout_style().colour;
};

}  // namespace

void show_printable() {
  static auto* const buffer = new PrintableBuffer(std::cout.rdbuf());  // used until the very end
  std::cout.rdbuf(buffer);
}

void write_stderr(std::string_view text) noexcept {
  try {
    write_to_terminal(printable(text));
  } catch (const std::bad_alloc&) {
    write_to_terminal("stap: out of memory\n");
  }
}

void write_to_terminal(std::string_view text) noexcept {
  // A reader that went away ends programs by SIGPIPE, which is right for results but not for a run
  // of hours whose messages nobody reads any more. So it is held off and taken back.
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    while (sigtimedwait(&pipe_signal, nullptr, &at_once) == -1 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TextStyle stdout_style() {
  TextStyle style;
  const char* kind = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  if (isatty(STDOUT_FILENO) != 1 || kind == nullptr || std::string_view(kind) == "dumb")
    return style;
  style.colour = no_colour == nullptr || *no_colour == '\0';
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.columns = std::max<std::size_t>(size.ws_col, kNarrowest);
  return style;
}

}  // namespace stap::app
