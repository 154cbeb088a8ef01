#include "couple/query_times.h"

#include <algorithm>

#include <fmt/format.h>

namespace stap {
namespace {

constexpr std::size_t kAnswersForLimit = 8;  // before them nobody knows what is slow

}  // namespace

SolverQueue::Clock::duration ticks(double seconds) {
  return std::chrono::duration_cast<SolverQueue::Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, 1e9)));
}

void QueryTimes::close(const Closing& closing) {
  if (closing.usual > 0) expected_ = closing.usual;
  if (!closing.by) return;
  const Clock::duration left = std::max(*closing.by - Clock::now(), Clock::duration{});
  back_by_ = std::min(back_by_, *closing.by - std::min(ticks(grace_ + kTidyUp), left / 2));
}

bool QueryTimes::in_time(const Query& query) const {
  if (back_by_ == Clock::time_point::max()) return true;
  const std::size_t steps = query.steps + query.steps_after;
  const double usual = times_.usual(steps).value_or(expected_ * static_cast<double>(steps));
  return Clock::now() + ticks(usual) < back_by_;
}

double QueryTimes::limit(std::size_t steps) const {
  if (limits_.seconds > 0) return limits_.seconds;
  if (times_.known() < kAnswersForLimit || limits_.factor <= 0) return 0.0;
  return std::max(limits_.least, limits_.factor * times_.usual(steps).value_or(0.0));
}

std::string QueryTimes::verdict(double taken) const {
  if (limits_.seconds > 0) return fmt::format("ended after {:.3g} s, the time limit", taken);
  return fmt::format(
      "ended after {:.3g} s: {:g} times the median of {:.3g} s a step, and at least {:g} s, are "
      "the time limit",
      taken, limits_.factor, times_.usual(1).value_or(0.0), limits_.least);
}

}  // namespace stap
