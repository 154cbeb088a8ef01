#include "core/signs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "core/descriptor.h"
#include "core/parallel.h"

namespace stap {
namespace {

constexpr std::size_t kSignBytes = 1024, kSignMost = 4096;

std::string utc_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> text{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%F %T UTC", &parts);
  return text.data();
}

}  // namespace

std::chrono::duration<double> beat_of(double silence) {
  return std::chrono::duration<double>(std::clamp(silence / 12, 0.02, 10.0));
}

Repeated::Repeated(std::chrono::duration<double> pause, std::function<void()> act) {
  const auto work = [this, pause, act = std::move(act)] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, pause, [this] { return over_; })) {
      lock.unlock();
      act();
      lock.lock();
    }
  };
  start_thread([&] { thread_ = std::thread(work); });
}

Repeated::~Repeated() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Signer::Signer(double silence) : name_(Owner::unique_name()) {
  const Owner us = Owner::here();
  about_ = fmt::format(
      "\"format\": \"lock/1\",\n \"name\": \"{}\",\n \"host\": \"{}\",\n \"process\": {},\n "
      "\"since\": \"{}\",\n \"place\": \"{}\",\n \"machine\": \"{}\",\n \"start\": \"{}\",\n "
      "\"silence\": {}",
      name_, us.host, us.process, utc_text(), us.place, us.machine, us.start, silence);
}

std::string Signer::next(std::string_view more) {
  std::string sign = fmt::format("{{\n {},\n \"beat\": {}{}{}\n}}", about_, ++number_,
                                 more.empty() ? "" : ",\n ", more);
  sign.resize(std::max(sign.size(), kSignBytes - 1), ' ');
  return sign + '\n';
}

bool write_sign(int file, const std::string& sign) {
  const ssize_t written = pwrite(file, sign.data(), sign.size(), 0);
  if (written >= 0 && written < static_cast<ssize_t>(sign.size())) errno = ENOSPC;
  return written == static_cast<ssize_t>(sign.size());
}

std::string read_sign(int file) {
  std::string sign(kSignMost, '\0');
  sign.resize(
      static_cast<std::size_t>(std::max<ssize_t>(pread(file, sign.data(), sign.size(), 0), 0)));
  return sign;
}

std::string sign_in(const std::filesystem::path& path, double* touched) {
  // Opened, since only that makes a file server say what is there now.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return {};
  struct stat status {};
  fstat(file.number(), &status);
  const timespec& time = status.st_mtim;
  if (touched != nullptr)
    *touched = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  return fmt::format("{}\n{}.{}", read_sign(file.number()), time.tv_sec, time.tv_nsec);
}

std::string said_in(std::string_view sign, std::string_view key) {
  const std::size_t at = sign.find(fmt::format("\"{}\":", key));
  if (at == sign.npos) return {};
  std::string_view rest = sign.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
  if (!rest.starts_with('"')) return std::string(rest.substr(0, rest.find_first_of(",} \n")));
  const std::size_t end = rest.find('"', 1);
  return end == rest.npos ? "" : std::string(rest.substr(1, end - 1));
}

Owner owner_in(std::string_view sign) {
  Owner owner{said_in(sign, "host"), said_in(sign, "place"), said_in(sign, "machine"), 0,
              said_in(sign, "start")};
  const std::string process = said_in(sign, "process");
  std::from_chars(process.data(), process.data() + process.size(), owner.process);
  return owner;
}

void Signs::see(const std::string& name, const std::string& sign, Clock::time_point now) {
  const auto [found, first] = seen_.try_emplace(name, Seen{sign, now});
  if (!first && found->second.sign != sign) found->second = {sign, now, true};
}

Signs::Clock::duration Signs::quiet(const std::string& name, Clock::time_point now) {
  return now - seen_.try_emplace(name, Seen{{}, now}).first->second.since;
}

bool Signs::stopped(const std::string& name, Clock::duration silence, Clock::time_point now) {
  return quiet(name, now) >= silence || owner_in(seen_[name].sign).gone();
}

bool Signs::moved(const std::string& name) const {
  const auto found = seen_.find(name);
  return found != seen_.end() && found->second.moved;
}

std::vector<std::string> Signs::all_stopped(Clock::duration silence, Clock::time_point now) {
  std::vector<std::string> names;
  for (const auto& [name, seen] : seen_)
    if (stopped(name, silence, now)) names.push_back(name);
  return names;
}

std::size_t Signs::slots_of_living(Clock::duration silence, Clock::time_point now) const {
  constexpr std::size_t kMost = 100000;
  std::size_t sum = 0;
  for (const auto& [name, seen] : seen_) {
    if (now - seen.since >= silence) continue;
    const std::string text = said_in(seen.sign, "slots");
    std::size_t slots = 0;
    std::from_chars(text.data(), text.data() + text.size(), slots);
    sum += std::min(slots, kMost);
  }
  return sum;
}

}  // namespace stap
