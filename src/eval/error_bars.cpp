#include "stap/eval/error_bars.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/hash64.h"

namespace stap {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Of all values at or below the quantile; a level of 0.9 and nine trajectories make nine.
double rank_of(std::size_t trajectories, std::size_t each, double level) {
  constexpr double kRounding = 1e-12;  // of the product, so that 9.000000000000002 is 9
  const double count = static_cast<double>((trajectories + 1) * each) * level;
  return std::ceil(count * (1 - kRounding));
}

// [trajectories]: the greatest score of all channels over its factor, of all starts and steps.
// Where both are infinite the bar holds.
std::vector<double> worst_of(const BarTrials& trials, const ErrorBars& bars) {
  std::vector<double> worst(trials.trajectories, 0.0);
  for (std::size_t step = 0; step < trials.steps; ++step)
    for (std::size_t start = 0; start < trials.starts_of(step); ++start) {
      const double factor = (start == 0 ? bars.first : bars.any)[step];
      for (std::size_t b = 0; b < worst.size(); ++b) {
        const double score = trials.scores[trials.at(start, 0, step) + b];
        if (score > 0 && !std::isinf(factor)) worst[b] = std::max(worst[b], score / factor);
      }
    }
  return worst;
}

}  // namespace

void check_level(std::size_t trajectories, double level) {
  if (!(level > 0 && level < 1))
    throw Error(ErrorKind::config,
                fmt::format("a level of {:g} is none: give one between 0 and 1", level));
  if (rank_of(trajectories, 1, level) <= static_cast<double>(trajectories)) return;
  const double most = static_cast<double>(trajectories) / static_cast<double>(trajectories + 1);
  const auto enough = static_cast<std::size_t>(std::ceil(level / (1 - level) - 1e-9));
  throw Error(ErrorKind::config,
              fmt::format("{} trajectories allow levels up to {:.4g}, not {:g}: take {} at least, "
                          "or a lower level",
                          trajectories, std::floor(most * 1e4) / 1e4, level, enough));
}

double conformal_quantile(std::vector<double> scores, std::size_t each, double level) {
  if (each == 0 || scores.size() % each != 0)
    throw Error(
        ErrorKind::internal,
        fmt::format("{} scores are not those of trajectories with {} each", scores.size(), each));
  const std::size_t trajectories = scores.size() / each;
  check_level(trajectories, level);
  const auto rank = static_cast<std::size_t>(rank_of(trajectories, each, level));
  const auto place =
      scores.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1)) - 1;
  std::nth_element(scores.begin(), place, scores.end());
  return *place;
}

double half_width(double factor, double scale) {
  return std::isinf(factor) || std::isinf(scale) ? kUnbounded : factor * scale;
}

std::uint64_t state_hash(std::span<const float> state, std::span<const double> parameters) {
  const std::uint64_t hash = hash64(std::as_bytes(state));
  if (parameters.empty()) return hash;
  std::vector<std::uint64_t> all{hash};
  for (const double value : parameters) all.push_back(std::bit_cast<std::uint64_t>(value));
  return hash64(std::as_bytes(std::span(all)));
}

ErrorBars fit_bars(const BarTrials& trials, std::span<const double> floor, double level) {
  check_level(trials.trajectories, level);
  const std::size_t n = trials.trajectories, kinds = bar_kinds(trials.channels);
  ErrorBars bars{.level = level,
                 .trajectories = n,
                 .channels = trials.channels,
                 .steps = trials.steps,
                 .cluster = trials.cluster,
                 .floor = {floor.begin(), floor.end()}};
  const auto take = [&](std::size_t start, std::size_t kind, std::size_t step,
                        std::vector<double>& to) {
    const auto begin =
        trials.scores.begin() + static_cast<std::ptrdiff_t>(trials.at(start, kind, step));
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(n));
  };
  for (std::size_t kind = 0; kind < kinds; ++kind)
    for (std::size_t step = 0; step < trials.steps; ++step) {
      std::vector<double> first, any;
      take(0, kind, step, first);
      const std::size_t starts = trials.starts_of(step);
      for (std::size_t start = 0; start < starts; ++start) take(start, kind, step, any);
      bars.first.push_back(conformal_quantile(std::move(first), 1, level));
      bars.any.push_back(conformal_quantile(std::move(any), starts, level));
    }
  bars.together = conformal_quantile(worst_of(trials, bars), 1, level);
  for (std::size_t step = 0; step < trials.steps; ++step) {
    double widest = 0;
    for (std::size_t start = 0; start < trials.starts_of(step); ++start)
      for (std::size_t b = 0; b < n; ++b)
        if (const double scale = trials.scales[trials.at(start, 0, step) + b]; std::isfinite(scale))
          widest = std::max(widest, scale);
    bars.widest.push_back(widest);
  }
  return bars;
}

}  // namespace stap
