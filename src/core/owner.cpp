#include "core/owner.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>

#include <fmt/format.h>

#include "core/proc.h"
#include "stap/core/hash64.h"

namespace stap {
namespace {

std::string first_word(const std::string& path) {
  std::string word;
  std::istringstream(proc_text(path).value_or("")) >> word;
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

// Empty: it has ended. Not known, where that cannot be read.
std::optional<std::string> start_of(long process) {
  const std::optional<ProcessStat> stat = process_stat(process);
  return stat ? std::optional(stat->start) : std::nullopt;
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
