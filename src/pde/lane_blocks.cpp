#include "pde/lane_blocks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/buffer.h"
#include "core/parallel.h"

namespace stap {
namespace {

// Writes status and reason.
void conclude(const LaneEnd& end, const std::string& bound, double dt, Answer& answer) {
  switch (end.how) {
    case LaneEnd::How::finished:
      answer.status = Answer::Status::ok;
      return;
    case LaneEnd::How::unbounded:
      answer.reason = fmt::format("{} in internal step {}", bound, end.steps);
      break;
    case LaneEnd::How::too_slow:
      answer.reason =
          fmt::format("dt = {:g} was not reached in max_steps = {} internal steps", dt, end.steps);
      break;
    case LaneEnd::How::stalled:
      answer.reason = fmt::format(
          "the error control asked for a vanishing step in internal step {}", end.steps);
      break;
  }
  answer.status = Answer::Status::failed;
  answer.states.clear();
}

}  // namespace

void advance_in_lanes(const LaneBlocks& blocks, std::span<const Query* const> queries,
                      std::span<Answer* const> answers,
                      const std::function<void(const LaneBlock&)>& advance) {
  using Clock = std::chrono::steady_clock;
  const std::size_t lanes = blocks.lanes, count = queries.size();
  const std::size_t tasks = (count + lanes - 1) / lanes;
  const int team = static_cast<int>(std::min(tasks, static_cast<std::size_t>(blocks.threads)));
  // All memory is had here: work on other threads must not throw.
  constexpr std::size_t kLine = 8;  // doubles of a cache line: no two threads share one
  const std::size_t state = (blocks.values + 2 * blocks.margin) * lanes;
  const std::size_t own = ((state + kLine - 1) / kLine + (blocks.work + kLine - 1) / kLine) * kLine;
  Buffer<double> memory(static_cast<std::size_t>(team) * own);
  for (Answer* answer : answers) answer->states.resize(blocks.values);
  std::vector<LaneEnd> ends(count);

  parallel_for(team, tasks, [&](std::size_t index, int thread) {
    const Clock::time_point start = Clock::now();
    double* const mine = memory.data() + static_cast<std::size_t>(thread) * own;
    double* const values = mine + blocks.margin * lanes;
    const std::size_t first = index * lanes, rows = std::min(lanes, count - first);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::vector<double>& from = queries[first + (lane < rows ? lane : 0)]->state;
      for (std::size_t i = 0; i < blocks.values; ++i) values[i * lanes + lane] = from[i];
    }

    advance({.queries = queries.subspan(first, rows),
             .state = values,
             .work = mine + (state + kLine - 1) / kLine * kLine,
             .ends = ends.data() + first});

    for (std::size_t lane = 0; lane < rows; ++lane) {
      std::vector<double>& to = answers[first + lane]->states;
      for (std::size_t i = 0; i < blocks.values; ++i) to[i] = values[i * lanes + lane];
    }
    const std::chrono::duration<double> taken = Clock::now() - start;
    for (std::size_t lane = 0; lane < rows; ++lane)
      answers[first + lane]->seconds = taken.count() / static_cast<double>(rows);
  });
  for (std::size_t i = 0; i < count; ++i) conclude(ends[i], blocks.bound, blocks.dt, *answers[i]);
}

std::string refusal_above(std::string_view symbol, double max_abs, std::span<const double> state) {
  double peak = 0.0;
  for (double value : state) peak = std::max(peak, std::abs(value));
  if (peak <= max_abs) return {};
  return fmt::format("max|{}| is {:.6g}, above max_abs = {:g}", symbol, peak, max_abs);
}

std::string passed_bound(std::string_view symbol, double max_abs) {
  return fmt::format("|{}| passed max_abs = {:g} or was not finite", symbol, max_abs);
}

}  // namespace stap
