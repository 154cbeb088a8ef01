#include "core/owner.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>

#include <fmt/format.h>

#include "stap/core/hash64.h"

namespace stap {
namespace {

constexpr std::size_t kMostOfProc = 1 << 16;

// Empty: there is none. Not known, where it cannot be read.
std::optional<std::string> text_of_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? std::optional<std::string>("") : std::nullopt;
  std::string text(kMostOfProc, '\0');
  const ssize_t n = read(file, text.data(), text.size());
  const int error = errno;
  close(file);
  if (n < 0) return error == ESRCH ? std::optional<std::string>("") : std::nullopt;
  text.resize(static_cast<std::size_t>(n));
  return text;
}

std::string first_word(const std::string& path) {
  std::string word;
  std::istringstream(text_of_file(path).value_or("")) >> word;
  return word;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "?";
}

// Processes of the same place can see each other.
std::string this_place() {
  const std::string boot = first_word("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return boot.empty() || error ? "?" : boot + "/" + space;
}

// Empty: there is no such process, or it has ended and nobody has taken note. Not known, where that
// cannot be read, as without a descriptor: nobody is taken for dead for that.
std::optional<std::string> start_of(long process) {
  const std::optional<std::string> text = text_of_file(fmt::format("/proc/{}/stat", process));
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream rest(text->substr(name_end + 1));
  std::string word;
  rest >> word;  // its state
  if (word == "Z" || word == "X") return "";
  for (int field = 4; field <= 22; ++field) rest >> word;
  return word;
}

std::string boot_of(const std::string& place) {
  return place.substr(0, place.find('/'));
}

}  // namespace

Owner Owner::here() {
  const long process = getpid();
  return {host_name(), this_place(), first_word("/etc/machine-id"), process,
          start_of(process).value_or("")};
}

std::string Owner::unique_name() {
  static std::atomic<unsigned> count{0};
  const Owner us = here();
  std::string name = us.host.substr(0, us.host.find('.'));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  const std::string life = fmt::format("{} {} {} {}", us.place, us.process, us.start, count++);
  return fmt::format("{}-{}-{:08x}", name.empty() ? "host" : name, us.process,
                     static_cast<std::uint32_t>(hash64(std::as_bytes(std::span(life)))));
}

std::string Owner::text() const {
  return fmt::format("process {} on {}", process, host);
}

bool Owner::lives_here() const {
  return process > 0 && place != "?" && !start.empty() && place == this_place() &&
         start_of(process).value_or(start) == start;
}

bool process_runs(long process) {
  return process > 0 && start_of(process) != "";
}

bool Owner::gone() const {
  if (process <= 0 || place == "?" || start.empty()) return false;
  const Owner us = here();
  if (place == us.place) return start_of(process).value_or(start) != start;
  return us.place != "?" && !machine.empty() && machine == us.machine && host == us.host &&
         boot_of(place) != boot_of(us.place);
}

}  // namespace stap
