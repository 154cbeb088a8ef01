#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/single_precision.h"
#include "run/phases.h"
#include "stap/core/error.h"

namespace stap {

Scaling initial_scaling(const TransitionSet& set, std::size_t steps,
                        const std::function<bool(std::size_t candidate)>& left_out,
                        FitOptions::Loss loss, const FixedFields* fixed) {
  const std::size_t channels = set.grid.channels / set.cluster, points = set.grid.points_total();
  const std::size_t values = set.grid.values();
  Scaling scaling = unit_scaling(set.grid.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    // Two passes: the deviation of values far from 0 would drown in one.
    auto for_each = [&](const auto& visit) {
      auto visit_row = [&](const double* row) {
        for (std::size_t frame = 0; frame < set.cluster; ++frame)
          for (std::size_t p = 0; p < points; ++p)
            if (!is_masked(fixed, p)) visit(row[(frame * channels + c) * points + p]);
      };
      for (std::size_t i = 0; i < set.count(); ++i) {
        if (set.origins[i].acquisition != 0) continue;
        if (left_out && left_out(set.origins[i].candidate)) continue;
        visit_row(set.inputs.data() + i * values);
        if (set.origins[i].step + 1 == steps) visit_row(set.outputs.data() + i * values);
      }
    };
    double n = 0, sum = 0, squares = 0;
    for_each([&](double v) { n += 1, sum += v; });
    if (n == 0)
      throw Error(ErrorKind::internal, "a scaling of a training set without initial trajectories");
    const double mean = sum / n;
    for_each([&](double v) { squares += (v - mean) * (v - mean); });
    double deviation = std::sqrt(squares / n);
    // Then its mean is the only size that it has.
    if (loss == FitOptions::Loss::scaled && deviation <= kSingleVariation * std::abs(mean))
      deviation = std::abs(mean);
    if (deviation > 0 && !(deviation >= kSingleLeast && deviation <= kSingleMost))
      throw Error(
          ErrorKind::data,
          fmt::format("channel {} of the initial trajectories has a deviation of {:.2g}, but "
                      "networks compute in single precision, which needs {:g} to {:g}: give "
                      "it another unit",
                      c, deviation, kSingleLeast, kSingleMost));
    for (std::size_t frame = 0; frame < set.cluster; ++frame) {
      scaling.mean[frame * channels + c] = static_cast<float>(mean);
      scaling.deviation[frame * channels + c] =
          deviation > 0 ? static_cast<float>(deviation) : 1.0f;
    }
  }
  return scaling;
}

std::vector<double> initial_changes(const TransitionSet& set,
                                    const std::function<bool(std::size_t candidate)>& left_out,
                                    const FixedFields* fixed) {
  const std::size_t channels = set.grid.channels / set.cluster, points = set.grid.points_total();
  const std::size_t values = set.grid.values();
  std::vector<double> squares(channels);
  double count = 0;
  for (std::size_t i = 0; i < set.count(); ++i) {
    if (set.origins[i].acquisition != 0) continue;
    if (left_out && left_out(set.origins[i].candidate)) continue;
    for (std::size_t v = 0; v < values; ++v) {
      if (is_masked(fixed, v % points)) continue;
      const double change = set.outputs[i * values + v] - set.inputs[i * values + v];
      squares[v / points % channels] += change * change;
    }
    count += static_cast<double>(set.cluster * counted_points(set.grid, fixed));
  }
  std::vector<double> changes;
  for (std::size_t c = 0; c < set.grid.channels; ++c)
    changes.push_back(std::sqrt(squares[c % channels] / count));
  return changes;
}

std::vector<float> loss_factors(const FitOptions& options, const Scaling& scaling,
                                std::span<const double> changes) {
  constexpr double kLeast = 0.1;
  const bool scaled = options.loss == FitOptions::Loss::scaled;
  double most = 0;
  for (std::size_t c = 0; c < changes.size(); ++c)
    most = std::max(most, changes[c] / static_cast<double>(scaling.deviation[c]));
  std::vector<float> factors;
  for (std::size_t c = 0; c < scaling.deviation.size(); ++c) {
    const double deviation = static_cast<double>(scaling.deviation[c]);
    const double weight = options.channel_weights.empty()
                              ? 1.0
                              : options.channel_weights[c % options.channel_weights.size()];
    double unit = scaled ? deviation : 1.0;
    if (scaled && most > kSingleVariation) unit = std::max(changes[c], kLeast * most * deviation);
    factors.push_back(static_cast<float>(std::sqrt(weight) / unit));
  }
  return factors;
}

std::vector<double> distance_factors(const Run& run) {
  std::vector<double> factors;
  if (run.study.options.distances == StudyOptions::Distances::scaled)
    for (const float deviation : run.scaling.deviation)
      factors.push_back(1.0 / static_cast<double>(deviation));
  return factors;
}

}  // namespace stap
