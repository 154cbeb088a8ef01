// Signs of life: a file that says who gives them, with a number that grows. Others watch it by
// their own clocks alone, since those of machines differ and jump.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/owner.h"

namespace stap {

/// How often somebody gives signs who is given up after so many seconds without one.
std::chrono::duration<double> beat_of(double silence);

/// Does something every so often as long as it lives, in a thread of its own: whoever gives signs
/// may be busy with other things for hours, and one slow file system must not delay another.
class Repeated {
 public:
  Repeated(std::chrono::duration<double> pause, std::function<void()> act);
  ~Repeated();
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

/// Who gives signs, to be given up after so many seconds without one.
class Signer {
 public:
  explicit Signer(double silence);
  /// No other signer has it.
  const std::string& name() const { return name_; }
  /// The next sign, flat JSON with `more` members ("\"slots\": 2"). Always of one size, so that a
  /// write in place replaces all of the last one. (A file that is replaced can look the same to
  /// another machine for a minute.)
  std::string next(std::string_view more);

 private:
  std::string name_, about_;
  std::uint64_t number_ = 0;
};

/// Writes a sign in place. False: errno says why not.
bool write_sign(int file, const std::string& sign);
/// The bytes of a file of signs.
std::string read_sign(int file);
/// The same with when it was touched, which is a sign as well; empty if it cannot be opened, and
/// errno says why. `touched`: in seconds, by the clock of the file system.
std::string sign_in(const std::filesystem::path& file, double* touched = nullptr);
/// What a sign says under a key; empty: nothing.
std::string said_in(std::string_view sign, std::string_view key);
/// Who has given it, as far as it says.
Owner owner_in(std::string_view sign);

/// What is seen of several signers.
class Signs {
 public:
  using Clock = std::chrono::steady_clock;

  /// What the file of `name` holds now.
  void see(const std::string& name, const std::string& sign, Clock::time_point now);
  /// For how long there has been no new sign.
  Clock::duration quiet(const std::string& name, Clock::time_point now);
  /// No new sign for so long, or it was a process of this machine that is not there any more.
  bool stopped(const std::string& name, Clock::duration silence, Clock::time_point now);
  /// A second sign was seen, so somebody lives.
  bool moved(const std::string& name) const;
  void forget(const std::string& name) { seen_.erase(name); }
  std::vector<std::string> all_stopped(Clock::duration silence, Clock::time_point now);
  std::size_t slots_of_living(Clock::duration silence, Clock::time_point now) const;

 private:
  struct Seen {
    std::string sign;
    Clock::time_point since;
    bool moved = false;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace stap
