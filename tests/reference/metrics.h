// The metrics written down from their definitions: nested loops over predictions that are all in
// memory, in whatever order is the plainest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace stap::reference {

/// One rollout: [time 1 .. L][channel][point].
using Rollout = std::vector<std::vector<std::vector<double>>>;

struct Errors {
  double rmse = 0, nrmse = 0, mae = 0;
  std::vector<double> by_step;
};

inline Errors errors_of(const Rollout& predicted, const Rollout& truth) {
  Errors errors;
  const std::size_t steps = truth.size(), channels = truth[0].size(), points = truth[0][0].size();
  double error2 = 0, norm2 = 0, absolute = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    double step2 = 0;
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t x = 0; x < points; ++x) {
        const double e = predicted[t][c][x] - truth[t][c][x];
        error2 += e * e;
        step2 += e * e;
        norm2 += truth[t][c][x] * truth[t][c][x];
        absolute += std::fabs(e);
      }
    errors.by_step.push_back(std::sqrt(step2 / static_cast<double>(points)));
  }
  errors.rmse = std::sqrt(error2 / static_cast<double>(steps * points));
  errors.nrmse = std::sqrt(error2 / norm2);
  errors.mae = absolute / static_cast<double>(steps * points * channels);
  return errors;
}

/// Linear between order statistics, by the textbook: the point (n - 1) q of the sorted values.
inline double quantile_of(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const auto above = static_cast<std::size_t>(std::ceil(place));
  const double weight = place - std::floor(place);
  return (1 - weight) * values[below] + weight * values[above];
}

}  // namespace stap::reference
