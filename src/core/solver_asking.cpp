#include "core/solver_asking.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace stap {
namespace {

double norm(std::span<const double> state) {
  double sum = 0.0;
  for (const double v : state) sum += v * v;
  return std::sqrt(sum);
}

double distance_between(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

std::string SolverTold::trouble() const {
  return fmt::format("{}: {}", refused() ? "is refused" : "fails", answer.reason);
}

std::vector<SolverTold> ask_solver(const Solver& solver, SolverQueue& queue,
                                   const std::vector<std::vector<double>>& states,
                                   const std::vector<double>& times,
                                   const std::vector<double>& parameters, std::size_t steps,
                                   const StopAsked& stop, std::size_t& calls) {
  using Clock = SolverQueue::Clock;
  std::vector<SolverTold> told(states.size());
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Query query{
        .id = i, .state = states[i], .time = times[i], .params = parameters, .steps = steps};
    if (solver.refusal(query).empty()) ++calls;
    queue.submit(query);
  }
  while (queue.open() > 0) {
    if (stop && stop()) throw Stopped();
    auto reply = queue.next(Clock::now() + kPatience);
    if (!reply) continue;
    told[reply->id] = {std::move(reply->answer),
                       std::chrono::duration<double>(Clock::now() - begun).count()};
  }
  queue.recorded();  // a question that is put again is to be computed again
  return told;
}

double later_time(double begin, double span, double dt) {
  return begin + std::max(dt, 0.382 * span);
}

SolverStep image_of(const StateMap& map, const SolverStep& step) {
  SolverStep image{std::vector<double>(step.from.size()), std::vector<double>(step.to.size()),
                   std::vector<double>(step.parameters.size())};
  map_state(map, (map.reversed ? step.to : step.from).data(), image.from.data());
  map_state(map, (map.reversed ? step.from : step.to).data(), image.to.data());
  map_values(map.parameters, step.parameters.data(), image.parameters.data());
  return image;
}

double share_of_change(const Grid& grid, const SolverStep& step, const std::vector<double>& a,
                       const std::vector<double>& b) {
  const std::size_t points = grid.points_total();
  const double rounding = kOnlyRounding * std::max(norm(step.from), norm(step.to));
  double largest = 0.0;
  for (std::size_t c = 0; c < grid.channels; ++c) {
    const auto channel = [&](const std::vector<double>& state) {
      return std::span(state).subspan(c * points, points);
    };
    const double off = distance_between(channel(a), channel(b));
    // A channel that stays as it is, or is nothing but rounding, has no change to compare with.
    const double change = std::max({distance_between(channel(step.from), channel(step.to)),
                                    kAlmost * norm(channel(step.from)), rounding});
    if (off > 0) largest = std::max(largest, off / change);
  }
  return largest;
}

bool is_like(const Grid& grid, const SolverStep& a, const SolverStep& b) {
  return a.parameters == b.parameters &&
         share_of_change(grid, a, a.from, b.from) <= kNearlySymmetry &&
         share_of_change(grid, a, a.to, b.to) <= kNearlySymmetry;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  return distance_between(a, b);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (same_bits(a, b)) return 0.0;
  const double size = std::max(norm(a), norm(b));
  return std::max(size > 0 ? distance(a, b) / size : 0.0, std::numeric_limits<double>::min());
}

}  // namespace stap
