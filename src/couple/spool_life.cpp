#include "couple/spool_life.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using Clock = Signs::Clock;

constexpr std::size_t kDigitsMost = 18;  // of an asker's number: another file's name may have more

Clock::duration ticks_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void ServerSigns::give(const fs::path& file, std::string_view facts, double silence) {
  const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  int error = out < 0 || !write_sign(out, signer_.next(facts)) ? errno : 0;
  if (out >= 0 && close(out) != 0 && error == 0) error = errno;
  const auto now = Clock::now();
  if (error == 0 || error == ENOSPC || error == EDQUOT) {
    written_ = now;
  } else if (!written_ || now - *written_ >= ticks_of(silence)) {
    throw Error(ErrorKind::storage,
                fmt::format("cannot write {}: {}; a server must be able to write in its folder",
                            file.string(), std::generic_category().message(error)));
  }
}

AskRight::AskRight(SpoolFolder folder, double silence)
    : folder_(std::move(folder)), silence_(silence) {}

// Earlier versions made a file of a higher number to take the place of a process that was gone: its
// number is the one to have. 0: nobody asks.
std::uint64_t AskRight::highest() const {
  std::uint64_t most = 0;
  for (const std::string& name : names_in(folder_.folder("askers"), true)) {
    if (name.size() > kDigitsMost) continue;
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc() && end == name.data() + name.size()) most = std::max(most, number);
  }
  return most;
}

bool AskRight::ours() {
  if (!lease_) {
    const std::uint64_t number = std::max<std::uint64_t>(highest(), 1);
    const fs::path file = folder_.folder("askers") / fmt::format("{}", number);
    LockHolder holder;
    lease_ = Lease::take(file, silence_, holder);
    if (holder.moved)
      throw Error(ErrorKind::storage,
                  fmt::format("{}: {} asks there, and only one process may: wait for it, end it, "
                              "or give solver.spool another folder",
                              folder_.path().string(), holder.text()));
    if (lease_ && highest() > number) lease_.reset();  // what we went by was old
    if (!lease_) return false;
    remove_leftovers_of(file);
    look_at_servers();
    watch_.emplace(beat_of(silence_), [this] { look_at_servers(); });
  }
  if (lease_->lost())
    throw Error(ErrorKind::storage,
                fmt::format("{}: another process asks there now, since this one gave no sign of "
                            "life; the same command continues when that one has ended",
                            folder_.path().string()));
  return true;
}

void AskRight::look_at_servers() {
  for (const std::string& name : names_in(folder_.folder("servers"), true)) {
    const std::string sign = sign_in(folder_.server(name));
    const std::lock_guard lock(mutex_);
    servers_.see(name, sign, Clock::now());
  }
}

bool AskRight::stopped(const std::string& server) {
  const std::lock_guard lock(mutex_);
  return servers_.stopped(server, ticks_of(silence_), Clock::now());
}

std::vector<std::string> AskRight::all_stopped() {
  const std::lock_guard lock(mutex_);
  return servers_.all_stopped(ticks_of(silence_), Clock::now());
}

std::size_t AskRight::slots() {
  const std::lock_guard lock(mutex_);
  return servers_.slots_of_living(ticks_of(silence_), Clock::now());
}

void AskRight::forget(const std::string& server) {
  remove_file(folder_.server(server));
  remove_file(folder_.folder("aside") / server);
  const std::lock_guard lock(mutex_);
  servers_.forget(server);
}

}  // namespace stap
