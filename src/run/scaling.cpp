#include <cmath>

#include "stap/core/error.h"
#include "stap/run/run.h"

namespace stap {

Scaling initial_scaling(const TransitionSet& set, std::size_t steps,
                        const std::function<bool(std::size_t candidate)>& left_out) {
  const std::size_t channels = set.grid.channels / set.cluster, points = set.grid.points_total();
  const std::size_t values = set.grid.values();
  Scaling scaling = unit_scaling(set.grid.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    // Two passes: the deviation of values far from 0 would drown in one.
    auto for_each = [&](const auto& visit) {
      auto visit_row = [&](const double* row) {
        for (std::size_t frame = 0; frame < set.cluster; ++frame)
          for (std::size_t p = 0; p < points; ++p) visit(row[(frame * channels + c) * points + p]);
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
    const double deviation = std::sqrt(squares / n);
    for (std::size_t frame = 0; frame < set.cluster; ++frame) {
      scaling.mean[frame * channels + c] = static_cast<float>(mean);
      scaling.deviation[frame * channels + c] =
          deviation > 0 ? static_cast<float>(deviation) : 1.0f;
    }
  }
  return scaling;
}

}  // namespace stap
