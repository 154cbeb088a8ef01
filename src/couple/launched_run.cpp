#include "couple/launched_run.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "couple/scratch.h"
#include "stap/core/stop.h"

namespace stap {
namespace {

Process started(const LaunchedRun::What& what, int socket) {
  const Descriptor log(
      open(what.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  return Process(Launch{.argv = what.words,
                        .env = what.env,
                        .folder = what.log.parent_path(),
                        .in = what.talks ? socket : -1,
                        .out = socket,
                        .err = log.number(),
                        .grace = what.grace});
}

}  // namespace

LaunchedRun::LaunchedRun(What what) : LaunchedRun(what, make_socket_pair()) {}

LaunchedRun::LaunchedRun(const What& what, std::pair<Descriptor, Descriptor> ends)
    : log_(what.log),
      socket_(std::move(ends.first)),
      process_(started(what, ends.second.number())) {}

std::size_t LaunchedRun::send(std::string_view bytes) const {
  const ssize_t n =
      ::send(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

void LaunchedRun::close_stdin() const {
  shutdown(socket_.number(), SHUT_WR);
}

std::string LaunchedRun::words() const {
  return last_words(log_);
}

void LaunchedRun::read() {
  std::array<char, 65536> bytes;
  while (open_) {
    const ssize_t n = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0)
      printed_.append(bytes.data(), static_cast<std::size_t>(n));
    else if (n == 0)
      open_ = false;
    else if (errno != EINTR)
      return;  // an error passes, or the time is over
  }
}

bool LaunchedRun::wait(const std::vector<LaunchedRun*>& runs, Clock::time_point until,
                       const std::function<bool()>& done, const StopAsked& stop) {
  for (;;) {
    bool all_ended = true;
    for (LaunchedRun* run : runs) {
      const bool ended = run->ended().has_value();  // asked first: then all that it said is there
      run->read();
      all_ended = all_ended && ended;
    }
    if (done()) return true;
    const auto now = Clock::now();
    if (all_ended || now >= until) return false;
    if (stop && stop()) throw Stopped();
    std::vector<pollfd> wanted;
    for (LaunchedRun* run : runs) {
      if (run->open_) wanted.push_back({run->socket_.number(), POLLIN, 0});
      if (!run->ended()) wanted.push_back({run->process_.descriptor(), POLLIN, 0});
    }
    const auto left = std::min<Clock::duration>(until - now, kPatience);
    poll(wanted.data(), wanted.size(),
         static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
  }
}

}  // namespace stap
