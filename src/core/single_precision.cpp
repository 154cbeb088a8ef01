#include "core/single_precision.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stap {

std::string single_precision_problem(std::span<const double> states, std::size_t points,
                                     std::span<const std::string> channels) {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    double sum = 0, squares = 0, count = 0, largest = 0;
    const auto for_each = [&](const auto& visit) {
      for (std::size_t at = c * points; at < states.size(); at += channels.size() * points)
        for (const double value : states.subspan(at, points)) visit(value);
    };
    for_each([&](double v) { sum += v, count += 1, largest = std::max(largest, std::abs(v)); });
    const double mean = sum / count;
    for_each([&](double v) { squares += (v - mean) * (v - mean); });
    const double deviation = std::sqrt(squares / count);
    const bool varies = deviation > kSingleVariation * std::abs(mean);
    const double size = varies ? deviation : largest;  // what it is counted in
    if (largest <= kSingleMost && (largest == 0 || size >= kSingleLeast)) continue;
    return fmt::format(
        "channel {} has values of up to {:.2g} and a deviation of {:.2g}, but networks compute in "
        "single precision, which needs {:g} to {:g}: give it another unit",
        channels[c], largest, deviation, kSingleLeast, kSingleMost);
  }
  return {};
}

}  // namespace stap
