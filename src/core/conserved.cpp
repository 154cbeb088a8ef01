#include "stap/core/conserved.h"

#include <algorithm>
#include <cmath>

namespace stap {
namespace {

// Rounding in single precision, of many values together, and in double.
constexpr double kSingle = 1e-6, kDouble = 1e-9;
// Of the deviation: a mean that is smaller is none.
constexpr double kLeastMean = 0.01;

}  // namespace

MeanChange mean_change(const Grid& grid, std::span<const double> from, std::span<const double> to,
                       std::size_t channel) {
  const std::size_t points = grid.points_total();
  const double n = static_cast<double>(points);
  double moved = 0.0, changed = 0.0;
  MeanChange result;
  for (std::size_t state = 0; state < from.size(); state += grid.values()) {
    double sum = 0.0, squares = 0.0, shift = 0.0, change = 0.0;
    for (std::size_t i = state + channel * points; i < state + (channel + 1) * points; ++i) {
      sum += from[i];
      squares += from[i] * from[i];
      shift += to[i] - from[i];
      change += (to[i] - from[i]) * (to[i] - from[i]);
    }
    const double size = std::sqrt(squares / n), mean = std::abs(sum / n);
    if (!(std::sqrt(change / n) > kDouble * size)) continue;
    changed += change / n;
    if (std::abs(shift / n) > kSingle * size) moved += (shift / n) * (shift / n);
    const double deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
    result.told = result.told || mean > kLeastMean * deviation;
  }
  if (changed > 0) result.share = std::sqrt(moved / changed);
  return result;
}

}  // namespace stap
