#include "interrupt.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace stap::app {
namespace {

using Clock = StopAsked::Clock;
using Seconds = std::chrono::duration<double>;

constexpr unsigned kPatience = 3;  // seconds for a tidy end, once somebody has asked twice
// A scheduler gives no notice earlier than this (Slurm's --signal takes 65535 s at most): an end
// that is farther away is not that of this job.
constexpr double kLongestNotice = 65535.0;
constexpr double kSpare = 3.0;  // seconds before a job's end
// What is left for tidying up before a deadline: these seconds, or a part of the time there is.
constexpr double kLast = 2.0, kLastPart = 0.05;

volatile std::sig_atomic_t signal_seen = 0, at_once = 0;
std::atomic<Clock::rep> noticed{0};  // when SIGUSR1 came
static_assert(std::atomic<Clock::rep>::is_always_lock_free, "a signal sets it");

void let_them_end_us() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

extern "C" void note_signal(int signal) {
  const bool again = signal_seen != 0;
  signal_seen = signal;
  if (signal == SIGTERM || again) at_once = 1;
  if (!again) return;
  let_them_end_us();
  alarm(kPatience);
}

extern "C" void lose_patience(int) {
  let_them_end_us();
  std::raise(signal_seen);
}

// Only the first counts.
extern "C" void note_notice(int) {
  Clock::rep none = 0;
  noticed.compare_exchange_strong(none, Clock::now().time_since_epoch().count());
}

Clock::duration ticks(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e9)));
}

// Seconds from now until this job's end, if a scheduler says so.
std::optional<double> until_end_of_job() {
  const char* text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const double time = std::strtod(text, &end);
  if (end == text || *end != '\0' || !std::isfinite(time)) return std::nullopt;
  return time - Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// By when all must be over, after a notice at this time.
Clock::time_point end_after(Clock::time_point notice, double seconds) {
  const auto now = Clock::now();
  if (const auto left = until_end_of_job(); left && *left <= kLongestNotice)
    if (const auto end = now + ticks(*left - kSpare); end > notice) return end;
  return notice + ticks(seconds);
}

}  // namespace

void heed_notice() {
  std::signal(SIGUSR1, note_notice);
}

void end_with_parent() {
  const char* parent = std::getenv("STAP_PARENT");
  if (parent != nullptr && parent == std::to_string(getppid())) prctl(PR_SET_PDEATHSIG, SIGTERM);
}

InterruptGuard::InterruptGuard(const TimeLimit& limit) : limit_(limit) {
  signal_seen = 0;
  at_once = 0;
  std::signal(SIGALRM, lose_patience);
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

InterruptGuard::~InterruptGuard() {
  let_them_end_us();
  alarm(0);
  std::signal(SIGALRM, SIG_DFL);
}

bool InterruptGuard::requested() const {
  return signal_seen != 0;
}

bool InterruptGuard::now() const {
  return at_once != 0;
}

std::optional<Clock::time_point> InterruptGuard::deadline() const {
  std::optional<Clock::time_point> end;
  if (limit_.stop_after) end = begun_ + ticks(limit_.stop_after->count());
  if (const Clock::rep at = noticed; at != 0) {
    // The environment does not change, but the two clocks drift: what was said first counts.
    static const Clock::time_point told =
        end_after(Clock::time_point(Clock::duration(at)), limit_.notice);
    end = std::min(end.value_or(told), told);
  }
  return end;
}

StopAsked InterruptGuard::stop() const {
  const auto asked = [this] {
    if (signal_seen != 0) return true;
    const auto end = deadline();
    if (!end) return false;
    const auto from = std::max(begun_, Clock::time_point(Clock::duration(noticed)));
    const Seconds whole = limit_.stop_after.value_or(*end - std::min(from, *end));
    return Clock::now() + ticks(std::min(kLast, kLastPart * whole.count())) >= *end;
  };
  return {asked, [] { return at_once != 0; }, [this] { return deadline(); }};
}

void InterruptGuard::end_program() const {
  std::signal(signal_seen, SIG_DFL);
  std::raise(signal_seen);
  std::abort();  // not reached: the default action ends the program
}

}  // namespace stap::app
