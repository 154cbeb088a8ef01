// How long runs will still take, by what they took so far.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "stap/report/watch.h"

namespace stap {
namespace {

// In this order, round by round; `initial` comes before the first.
constexpr std::array kTimedPhases{"train", "evaluate", "select", "acquire"};

using ByRound = std::map<std::size_t, double>;
using PhaseRounds = std::map<std::string, ByRound, std::less<>>;

PhaseRounds rounds_of(std::span<const Timing> timings) {
  PhaseRounds sums;
  for (const Timing& timing : timings) sums[timing.phase][timing.round] += timing.seconds;
  return sums;
}

// Where a run is among `kTimedPhases`; empty: it is at none of them.
std::optional<std::size_t> place_of(const std::string& phase) {
  const auto found = std::ranges::find(kTimedPhases, phase);
  if (found == kTimedPhases.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kTimedPhases.begin());
}

// What a phase takes in a round: on the straight line through rounds that are done, since training
// sets grow; never less than the shortest of them, and where there is one only, the same again.
std::optional<double> expected(const ByRound& done, std::size_t round) {
  if (done.empty()) return std::nullopt;
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, least = INFINITY;
  for (const auto& [r, seconds] : done) {
    const double at = static_cast<double>(r);
    n += 1, x += at, y += seconds, xx += at * at, xy += at * seconds;
    least = std::min(least, seconds);
  }
  const double spread = n * xx - x * x;
  const double slope = spread > 0 ? std::max(0.0, (n * xy - x * y) / spread) : 0.0;
  return std::max(least, y / n + slope * (static_cast<double>(round) - x / n));
}

// By what runs of its own folder took, if it has none of its own.
std::optional<double> expected(const std::string& phase, std::size_t round, const PhaseRounds& own,
                               const PhaseRounds& all) {
  for (const PhaseRounds* known : {&own, &all})
    if (const auto found = known->find(phase); found != known->end())
      if (const auto seconds = expected(found->second, round)) return seconds;
  return std::nullopt;
}

// Wall clock until the phase under way ends, by its own pace; empty: it does not tell.
std::optional<double> by_pace(const RunStatus& status) {
  const bool trains = status.phase == "train";
  const std::size_t done = trains ? status.epochs_done : status.spent;
  const std::size_t total = trains ? status.epochs : status.budget;
  const double seconds = status.time - status.since;
  if (status.since <= 0 || seconds <= 0 || total == 0 || done <= status.since_done)
    return std::nullopt;
  const double pace = seconds / static_cast<double>(done - status.since_done);
  return pace * static_cast<double>(total - std::min(done, total));
}

// The same from now on. Runs that share the training of another one have the time of that.
std::optional<double> pace_left(std::span<const LiveRun* const> beside, const LiveRun& run,
                                double now) {
  const auto left = [&](const RunStatus& status) -> std::optional<double> {
    const auto pace = by_pace(status);
    if (!pace) return std::nullopt;
    return std::max(0.0, *pace - std::max(0.0, now - status.time));
  };
  if (const auto own = left(run.status)) return own;
  std::optional<double> longest;
  for (const LiveRun* other : beside)
    if (const auto its = left(other->status)) longest = std::max(longest.value_or(0.0), *its);
  return longest;
}

// Seconds of the process until this run's phase has ended, a share of those of all runs `beside` it
// at the same phase. What moves tells for what does not: runs that share the training of another
// one, or have had no answer yet.
std::optional<double> phase_left(const LiveRun& run, std::span<const LiveRun* const> beside,
                                 const PhaseRounds& own, const PhaseRounds& all, double now) {
  const RunStatus& status = run.status;
  const auto moving = std::ranges::count_if(
      beside, [](const LiveRun* other) { return by_pace(other->status).has_value(); });
  if (const auto pace = by_pace(status))
    return std::max(0.0, *pace - std::max(0.0, now - status.time)) / static_cast<double>(moving);
  if (moving > 0) return 0.0;
  const auto usual = expected(status.phase, status.round, own, all);
  if (!usual) return std::nullopt;
  const double passed = status.since > 0 ? std::max(0.0, now - status.since) : 0.0;
  return std::max(0.0, *usual - passed / static_cast<double>(beside.size()));
}

// Seconds of the process that this run still needs.
std::optional<double> work_left(const LiveRun& run, std::span<const LiveRun* const> beside,
                                const PhaseRounds& all, double now) {
  const RunStatus& status = run.status;
  const PhaseRounds own = rounds_of(run.timings);
  const std::optional<double> phase = phase_left(run, beside, own, all, now);
  if (!phase) return std::nullopt;
  double left = *phase;
  const bool initial = status.phase == "initial";
  const std::size_t first =
      initial ? 0 : place_of(status.phase).value_or(kTimedPhases.size() - 1) + 1;
  for (std::size_t round = status.round; round <= status.rounds; ++round)
    for (std::size_t p = round == status.round ? first : 0; p < kTimedPhases.size(); ++p) {
      if (p >= 2 && round == status.rounds) break;  // nothing is bought after the last evaluation
      const auto seconds = expected(kTimedPhases[p], round, own, all);
      if (!seconds) return std::nullopt;
      left += *seconds;
    }
  return left;
}

}  // namespace

void estimate_time_left(std::span<LiveRun> runs, double now) {
  // Of one process, by host and number: its runs, and how many of them are at each phase.
  using Process = std::pair<std::string, std::int64_t>;
  std::map<Process, std::vector<LiveRun*>> processes;
  PhaseRounds sums, counts;
  for (LiveRun& run : runs) {
    run.seconds_left.reset();
    run.phase_seconds_left.reset();
    if (run.works() && !run.status.phase.empty())
      processes[{run.status.host, run.status.process}].push_back(&run);
    for (const auto& [phase, rounds] : rounds_of(run.timings))
      for (const auto& [round, seconds] : rounds) {
        sums[phase][round] += seconds;
        counts[phase][round] += 1;
      }
  }
  PhaseRounds means;
  for (const auto& [phase, rounds] : sums)
    for (const auto& [round, seconds] : rounds)
      means[phase][round] = seconds / counts[phase][round];
  for (const auto& [process, mine] : processes) {
    std::optional<double> sum = 0.0;
    for (LiveRun* run : mine) {
      std::vector<const LiveRun*> beside;
      for (const LiveRun* other : mine)
        if (other->status.phase == run->status.phase) beside.push_back(other);
      const auto left = work_left(*run, beside, means, now);
      run->phase_seconds_left = pace_left(beside, *run, now);
      sum = sum && left ? std::optional(*sum + *left) : std::nullopt;
    }
    for (LiveRun* run : mine) run->seconds_left = sum;
  }
}

double share_done(std::span<const LiveRun> runs) {
  double sum = 0;
  for (const LiveRun& run : runs) {
    const RunStatus& status = run.status;
    const std::string& phase = status.phase;
    const auto is = [&](auto... phases) { return ((phase == phases) || ...); };
    if (is("", "initial", "data")) continue;
    if (is("done")) {
      sum += 1;
      continue;
    }
    // A round is trained, then bought for, in equal halves; the last one is only trained.
    const std::size_t done = is("train") ? status.epochs_done : status.spent;
    const std::size_t total = is("train") ? status.epochs : status.budget;
    const double part =
        total == 0 ? 0 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
    const double halves = is("train")                                     ? part
                          : is("acquire")                                 ? 1 + part
                          : is("beside", "evaluate", "select", "trained") ? 1
                                                                          : 0;
    sum += (2 * static_cast<double>(status.round) + halves) /
           (2 * static_cast<double>(status.rounds) + 1);
  }
  return runs.empty() ? 0 : std::min(1.0, sum / static_cast<double>(runs.size()));
}

std::optional<double> seconds_left(std::span<const LiveRun> runs) {
  std::optional<double> longest;
  for (const LiveRun& run : runs) {
    if (!run.works()) continue;
    if (!run.seconds_left) return std::nullopt;
    longest = std::max(longest.value_or(0.0), *run.seconds_left);
  }
  return longest;
}

}  // namespace stap
