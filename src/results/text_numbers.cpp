// Numbers of one column, written alike.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "results/text_layout.h"

namespace stap {
namespace {

constexpr int kMostDecimals = 6;
constexpr double kSmallestPlain = 1e-4, kLargestPlain = 1e6;  // without a power of ten
constexpr double kWidestRange = 1e6;                          // the largest over the smallest
constexpr std::size_t kMostBars = 24;

struct Ends {
  double low = std::numeric_limits<double>::infinity(), high = 0;

  void take(double value) {
    if (!std::isfinite(value) || value <= 0) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(value)));
}

// The last ones of equal parts: the last round is always there.
std::vector<double> thinned(const std::vector<double>& values) {
  if (values.size() <= kMostBars) return values;
  std::vector<double> kept;
  for (std::size_t k = 1; k <= kMostBars; ++k)
    kept.push_back(values[k * values.size() / kMostBars - 1]);
  return kept;
}

}  // namespace

std::vector<std::string> with_spreads(std::span<const Spread> values) {
  std::size_t before = 0, behind = 0;
  for (const Spread& value : values) {
    if (!std::isfinite(value.mean)) continue;
    before = std::max(before, fmt::formatted_size("{:+.3f}", value.mean));
    if (std::isfinite(value.spread))
      behind = std::max(behind, fmt::formatted_size("{:.3f}", value.spread));
  }
  std::vector<std::string> texts;
  for (const Spread& value : values) {
    std::string& text = texts.emplace_back();
    if (!std::isfinite(value.mean)) continue;
    text = fmt::format("{:>+{}.3f}", value.mean, before);
    if (std::isfinite(value.spread))
      text += fmt::format(" ± {:>{}.3f}", value.spread, behind);
    else if (behind > 0)
      text += std::string(behind + 3, ' ');
  }
  return texts;
}

OneScale on_one_scale(std::span<const double> values) {
  OneScale scale;
  Ends ends;
  for (const double value : values) ends.take(value);
  const bool none = ends.high == 0;
  const bool wide = !none && ends.high / ends.low > kWidestRange;
  if (!none && !wide && (ends.low < kSmallestPlain || ends.high >= kLargestPlain))
    scale.exponent = exponent_of(ends.low);
  const int decimals =
      none ? 0 : std::clamp(3 + scale.exponent - exponent_of(ends.low), 0, kMostDecimals);
  for (const double value : values)
    scale.texts.push_back(
        !std::isfinite(value) ? ""
        : wide                ? fmt::format("{:.3e}", value)
               : fmt::format("{:.{}f}", value / std::pow(10, scale.exponent), decimals));
  return scale;
}

std::vector<std::string> sparklines(std::span<const std::vector<double>> lists) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  Ends ends;
  for (const auto& list : lists)
    for (const double value : list) ends.take(value);
  const double low = std::log(ends.low), height = std::log(ends.high) - low;
  std::vector<std::string> lines;
  for (const auto& list : lists) {
    std::string& line = lines.emplace_back();
    for (const double value : thinned(list)) {
      if (!std::isfinite(value)) {
        line += '!';
        continue;
      }
      const double part = value > 0 && height > 0 ? (std::log(value) - low) / height : 0.0;
      line += kBars[std::clamp(static_cast<int>(part * 8), 0, 7)];
    }
  }
  return lines;
}

}  // namespace stap
