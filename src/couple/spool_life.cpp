#include "couple/spool_life.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/hash64.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using Clock = Signs::Clock;

constexpr std::size_t kSignBytes = 1024;  // always as many, so that one write replaces all of it
constexpr std::size_t kSignMost = 65536;

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// Which processes have numbers that mean the same as ours: those of this boot of this machine, and
// of this name space of processes (a container has its own).
const std::string& process_space() {
  static const std::string space = [] {
    std::error_code error;
    return first_line("/proc/sys/kernel/random/boot_id") + " " +
           fs::read_symlink("/proc/self/ns/pid", error).string();
  }();
  return space;
}

// When a process began, in ticks since the machine did: a number may be given to another one later.
// 0: there is none, or it has ended.
std::uint64_t begin_of(std::uint64_t process) {
  const std::string text = first_line(fmt::format("/proc/{}/stat", process));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, word;
  fields >> state;  // field 3; the time is field 22 (man proc)
  for (int i = 4; i <= 21; ++i) fields >> word;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return state == "Z" || state == "X" ? 0 : ticks;
}

// The sign of a process of this machine that has ended.
bool surely_gone(const Value& facts) {
  const Value *space = facts.find("space"), *process = facts.find("process"),
              *begin = facts.find("begin");
  if (space == nullptr || process == nullptr || begin == nullptr) return false;
  if (space->text() == nullptr || *space->text() != process_space()) return false;
  const auto number = process->integer<std::uint64_t>(), ticks = begin->integer<std::uint64_t>();
  return number && ticks && begin_of(*number) != *ticks;
}

std::string sign_in(const fs::path& file) {
  const auto bytes = bytes_of(file, kSignMost);
  if (!bytes) return {};
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

Clock::duration ticks(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::string process_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string name(host);
  name = name.substr(0, name.find('.'));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  static std::atomic<unsigned> count{0};
  const std::string life = fmt::format("{} {} {} {}", process_space(), getpid(),
                                       begin_of(static_cast<std::uint64_t>(getpid())), count++);
  return fmt::format("{}-{}-{:08x}", name.empty() ? "host" : name, getpid(),
                     static_cast<std::uint32_t>(hash64(std::as_bytes(std::span(life)))));
}

std::chrono::duration<double> beat_of(double silence) {
  return std::chrono::duration<double>(std::clamp(silence / 12, 0.02, 10.0));
}

void beat(const fs::path& file, std::uint64_t number, Value facts, bool may_make) {
  const auto process = static_cast<std::uint64_t>(getpid());
  facts.set("beat", number);
  facts.set("process", process);
  facts.set("begin", begin_of(process));
  facts.set("space", process_space());
  std::string text = config::json_text(facts, 0);
  text.resize(std::max(text.size(), kSignBytes - 1), ' ');
  text += '\n';
  // Opened every time: closing a file is what makes others see it where it is shared (NFS).
  const int out = open(file.c_str(), O_WRONLY | O_CLOEXEC | (may_make ? O_CREAT : 0), 0666);
  if (out < 0) return;
  [[maybe_unused]] const ssize_t written = pwrite(out, text.data(), text.size(), 0);
  close(out);
}

void Signs::see(const std::string& name, const std::string& text, Clock::time_point now) {
  const auto [found, first] = seen_.try_emplace(name, Sign{text, now});
  if (!first && found->second.text != text) found->second = {text, now, true};
}

bool Signs::stopped(const std::string& name, Clock::duration silence, Clock::time_point now) {
  const auto [found, first] = seen_.try_emplace(name, Sign{{}, now});
  return now - found->second.since >= silence || (!first && surely_gone(facts(name)));
}

bool Signs::moved(const std::string& name) const {
  const auto found = seen_.find(name);
  return found != seen_.end() && found->second.moved;
}

Value Signs::facts(const std::string& name) const {
  const auto found = seen_.find(name);
  if (found == seen_.end() || found->second.text.empty()) return {};
  try {
    return config::parse_json(found->second.text, name);
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::string> Signs::all_stopped(Clock::duration silence, Clock::time_point now) {
  std::vector<std::string> names;
  for (const auto& [name, sign] : seen_)
    if (stopped(name, silence, now)) names.push_back(name);
  return names;
}

std::size_t Signs::slots_of_living(Clock::duration silence, Clock::time_point now) {
  std::size_t sum = 0;
  for (const auto& [name, sign] : seen_) {
    if (now - sign.since >= silence) continue;
    const Value about = facts(name);
    const Value* slots = about.find("slots");
    const auto number = slots != nullptr ? slots->integer<std::uint64_t>() : std::nullopt;
    sum += number ? static_cast<std::size_t>(std::min<std::uint64_t>(*number, 100000)) : 0;
  }
  return sum;
}

Seat::Seat(SpoolFolder folder, double silence)
    : folder_(std::move(folder)),
      silence_(ticks(silence)),
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

void Seat::live() {
  std::uint64_t count = 0;
  auto due = Clock::now();
  // Looking at many servers may take longer than our own sign may be late.
  const auto say = [&](bool ended) {
    if (!ended && Clock::now() < due) return;
    due = Clock::now() + ticks(beat_);
    Value about;
    about.set("name", name_);
    about.set("ended", ended);
    beat(file(number_), ++count, std::move(about), false);
  };
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    say(false);
    const bool lost = highest() > number_;
    std::map<std::string, std::pair<std::string, Clock::time_point>> signs;
    for (const std::string& name : names_in(folder_.folder("servers"), true)) {
      signs.emplace(name, std::pair(sign_in(folder_.server(name)), Clock::now()));
      say(false);
    }
    lock.lock();
    lost_ = lost_ || lost;
    for (const auto& [name, sign] : signs) servers_.see(name, sign.first, sign.second);
    wake_.wait_until(lock, due, [this] { return ending_; });
  }
  lock.unlock();
  say(true);
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
