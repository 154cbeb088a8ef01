#include "couple/spool_seat.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using Clock = Signs::Clock;

constexpr std::size_t kDigitsMost = 18;  // of an asker's number: another file's name may have more

Clock::duration ticks_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Seat::Seat(SpoolFolder folder, double silence)
    : folder_(std::move(folder)),
      silence_(ticks_of(silence)),
      beat_(beat_of(silence).count()),
      name_(process_name()) {}

Seat::~Seat() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

fs::path Seat::file(std::uint64_t number) const {
  return folder_.folder("askers") / fmt::format("{}", number);
}

// Of all that have asked here; 0: nobody has.
std::uint64_t Seat::highest() const {
  std::uint64_t most = 0;
  for (const std::string& name : names_in(folder_.folder("askers"), true)) {
    if (name.size() > kDigitsMost) continue;
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc() && end == name.data() + name.size()) most = std::max(most, number);
  }
  return most;
}

bool Seat::taken() {
  if (number_ > 0) {
    const std::lock_guard lock(mutex_);
    if (lost_)
      throw Error(ErrorKind::storage,
                  fmt::format("{}: another process asks there now, since this one gave no sign of "
                              "life; the same command goes on when that one has ended",
                              folder_.path().string()));
    return true;
  }
  const std::uint64_t last = highest();
  if (last == 0) return take(1), number_ > 0;
  const std::string who = fmt::format("{}", last);
  askers_.see(who, sign_in(file(last)), Clock::now());
  const Value about = askers_.facts(who);
  const Value* ended = about.find("ended");
  if ((ended != nullptr && ended->boolean() == true) ||
      askers_.stopped(who, silence_, Clock::now()))
    return take(last + 1), number_ > 0;
  if (!askers_.moved(who)) return false;
  const Value* name = about.find("name");
  throw Error(ErrorKind::storage,
              fmt::format("{}: the process {} asks there, and only one may: wait for it, end it, "
                          "or give solver.spool another folder",
                          folder_.path().string(),
                          name != nullptr && name->text() != nullptr ? *name->text() : who));
}

// Numbers only grow, and one process makes each: whoever makes the next one is the one.
void Seat::take(std::uint64_t number) {
  const int made = open(file(number).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (made < 0 && errno == EEXIST) return;
  if (made < 0)
    throw Error(ErrorKind::storage, fmt::format("cannot write {}: {}", file(number).string(),
                                                std::generic_category().message(errno)));
  close(made);
  if (highest() > number) {  // what we went by was old
    remove_file(file(number));
    return;
  }
  number_ = number;
  for (const std::string& name : names_in(folder_.folder("askers"), false))
    if (name != fmt::format("{}", number)) remove_file(folder_.folder("askers") / name);
  thread_ = std::thread([this] { live(); });
}

// Also where our file was removed, with the folder or without, and another process made it anew.
bool Seat::is_another_ones() const {
  if (highest() > number_) return true;
  Signs own;
  own.see("own", sign_in(file(number_)), Clock::now());
  const Value about = own.facts("own");
  const Value* name = about.find("name");
  return name != nullptr && name->text() != nullptr && *name->text() != name_;
}

void Seat::live() {
  std::uint64_t count = 0;
  auto due = Clock::now();
  // Looking at many servers may take longer than our own sign may be late.
  const auto say = [&](bool ended) {
    if (!ended && Clock::now() < due) return;
    due = Clock::now() + ticks_of(beat_);
    Value about;
    about.set("name", name_);
    about.set("ended", ended);
    beat(file(number_), ++count, std::move(about), true);
  };
  bool lost = false;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    lost = lost || is_another_ones();
    if (!lost) say(false);
    std::map<std::string, std::pair<std::string, Clock::time_point>> signs;
    for (const std::string& name : names_in(folder_.folder("servers"), true)) {
      signs.emplace(name, std::pair(sign_in(folder_.server(name)), Clock::now()));
      if (!lost) say(false);
    }
    lock.lock();
    lost_ = lost;
    for (const auto& [name, sign] : signs) servers_.see(name, sign.first, sign.second);
    wake_.wait_until(lock, due, [this] { return ending_; });
  }
  lock.unlock();
  if (!lost) say(true);
}

bool Seat::stopped(const std::string& server) {
  const std::lock_guard lock(mutex_);
  return servers_.stopped(server, silence_, Clock::now());
}

std::vector<std::string> Seat::all_stopped() {
  const std::lock_guard lock(mutex_);
  return servers_.all_stopped(silence_, Clock::now());
}

std::size_t Seat::slots() {
  const std::lock_guard lock(mutex_);
  return servers_.slots_of_living(silence_, Clock::now());
}

void Seat::forget(const std::string& server) {
  remove_file(folder_.server(server));
  remove_file(folder_.folder("aside") / server);
  const std::lock_guard lock(mutex_);
  servers_.forget(server);
}

}  // namespace stap
