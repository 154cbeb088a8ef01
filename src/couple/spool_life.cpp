#include "couple/spool_life.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "couple/spool_folder.h"
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

}  // namespace

std::string sign_in(const fs::path& file) {
  const auto bytes = bytes_of(file, kSignMost);
  if (!bytes) return {};
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

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

int beat(const fs::path& file, std::uint64_t number, Value facts, bool may_make) {
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
  if (out < 0) return errno;
  const int error = pwrite(out, text.data(), text.size(), 0) < 0 ? errno : 0;
  return close(out) != 0 && error == 0 ? errno : error;
}

void OwnSign::give(const fs::path& file, Value facts, double silence) {
  const int error = beat(file, ++number_, std::move(facts), true);
  const auto now = Signs::Clock::now();
  if (error == 0 || error == ENOSPC || error == EDQUOT) {
    written_ = now;
  } else if (!written_ || std::chrono::duration<double>(now - *written_).count() >= silence) {
    throw Error(ErrorKind::storage,
                fmt::format("cannot write {}: {}; a server must be able to write in its folder",
                            file.string(), std::generic_category().message(error)));
  }
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

}  // namespace stap
