#include "report/ticks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace stap {
namespace {

// Beyond these differences overflow.
constexpr double kLargest = 1e300, kSmallest = 1e-300;
// Values that are closer together than this part of their size cannot be told apart by labels.
constexpr double kFinest = 1e-8;
constexpr double kSlack = 1e-9;  // of a step, for ticks at the very ends

// The least of 1, 2, 5 times a power of ten that is no smaller.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-12)) return factor * power;
  return 10 * power;
}

// 12345.5 -> "12 345.5", with thin spaces.
std::string grouped(std::string digits) {
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  const std::size_t end = std::min(digits.find('.'), digits.size());
  if (end - sign >= 5)
    for (std::size_t i = end; i > sign + 3; i -= 3) digits.insert(i - 3, "\u2009");
  if (sign == 1) digits.replace(0, 1, "\u2212");
  return digits;
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  return grouped(std::move(text));
}

int decimals_of(double step) {
  return std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 12);
}

// A power of 1000 where labels would have many digits otherwise.
int common_exponent(double largest) {
  if (largest == 0 || (largest >= 1e-3 && largest < 1e6)) return 0;
  return 3 * static_cast<int>(std::floor(std::log10(largest) / 3 + 1e-12));
}

std::vector<double> multiples(const Span& span, double step) {
  std::vector<double> values;
  for (double i = std::ceil(span.low / step - kSlack); i * step <= span.high + kSlack * step; ++i)
    values.push_back(std::clamp(i * step, span.low, span.high));
  return values;
}

// The longest stretch of a span without ticks.
double longest_stretch(const std::vector<double>& ticks, const Span& span) {
  if (ticks.empty()) return 1;
  double longest = std::max(span.part(ticks.front()), 1 - span.part(ticks.back()));
  for (std::size_t i = 1; i < ticks.size(); ++i)
    longest = std::max(longest, span.part(ticks[i]) - span.part(ticks[i - 1]));
  return longest;
}

Ticks linear_ticks(const Span& span, std::size_t most, bool whole) {
  Ticks ticks;
  const double wide = span.high - span.low;
  double step = round_step(wide / static_cast<double>(std::max<std::size_t>(most, 2)));
  if (!whole && multiples(span, step).size() < 3) step = round_step(0.4 * step);
  if (whole) step = std::max(step, 1.0);
  ticks.major = multiples(span, step);
  ticks.exponent = common_exponent(std::max(std::abs(span.low), std::abs(span.high)));
  const double unit = std::pow(10.0, ticks.exponent);
  for (const double v : ticks.major)
    ticks.labels.push_back(fixed(v / unit, decimals_of(step / unit)));
  return ticks;
}

// "0.001", "1", "500", "10⁻⁵", "2·10⁻⁵".
std::string log_label(double value, bool plain) {
  if (plain) return grouped(fmt::format("{:.12g}", value));
  const int exponent = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  const double factor = value / std::pow(10.0, exponent);
  if (std::abs(factor - 1) < 1e-6) return power_of_ten(exponent);
  return fmt::format("{:.6g}·{}", factor, power_of_ten(exponent));
}

// Multiples (of `factors`) of powers of ten whose exponents are multiples of `every`.
std::vector<double> decades(const Span& span, const std::vector<double>& factors, int every) {
  std::vector<double> values;
  const int first = static_cast<int>(std::floor(std::log10(span.low))) - 1;
  const int last = static_cast<int>(std::ceil(std::log10(span.high)));
  for (int e = first; e <= last; ++e) {
    if (e % every != 0) continue;
    for (const double factor : factors) {
      // Read from text: powers of ten that are exact as they can be.
      const double v = std::strtod(fmt::format("{}e{}", factor, e).c_str(), nullptr);
      if (v >= span.low * (1 - 1e-12) && v <= span.high * (1 + 1e-12) && v > 0)
        values.push_back(std::clamp(v, span.low, span.high));
    }
  }
  return values;
}

Ticks log_ticks(const Span& span, std::size_t most) {
  Ticks ticks;
  const std::vector<double> all = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const double wide = std::log10(span.high) - std::log10(span.low);

  int every = 1;
  while (wide / every > static_cast<double>(most))
    every = every == 1 ? 2 : every == 2 ? 5 : every * 2;
  const std::vector<double> powers = decades(span, {1}, every);
  ticks.major = powers;
  if (every == 1) {
    const auto consider = [&](std::vector<double> finer) {
      const double before = longest_stretch(ticks.major, span);
      const bool enough = ticks.major.size() > 2 && (before < 0.4 || ticks.major == powers);
      if (!enough && finer.size() <= most + 2 && longest_stretch(finer, span) < before)
        ticks.major = std::move(finer);
    };
    for (const std::vector<double>& factors :
         {std::vector<double>{1, 3}, std::vector<double>{1, 2, 5},
          std::vector<double>{1, 2, 3, 5, 7}, all})
      consider(decades(span, factors, 1));
    // A narrow span may have no such numbers in it.
    if (wide < 1) consider(linear_ticks({span.low, span.high, false}, most, false).major);
    if (wide < 12) ticks.minor = decades(span, all, 1);
    std::erase_if(ticks.minor, [&](double v) { return std::ranges::count(ticks.major, v) > 0; });
  }
  const bool plain =
      std::ranges::all_of(ticks.major, [](double v) { return v > 9e-4 && v < 1.1e4; });
  for (const double v : ticks.major) ticks.labels.push_back(log_label(v, plain));
  return ticks;
}

}  // namespace

double Span::part(double value) const {
  if (!log) return (value - low) / (high - low);
  return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
}

bool can_show(double value, bool log) {
  if (!std::isfinite(value) || std::abs(value) > kLargest) return false;
  return !log || value >= kSmallest;
}

Span span_of(const std::vector<double>& values, bool log, double room, bool to_zero) {
  Span span{0, 0, log};
  bool any = false;
  for (const double v : values) {
    if (!can_show(v, log)) continue;
    span.low = any ? std::min(span.low, v) : v;
    span.high = any ? std::max(span.high, v) : v;
    any = true;
  }
  if (!any) return {log ? 0.1 : 0.0, 1.0, log};
  if (log) {
    double a = std::log10(span.low), b = std::log10(span.high);
    const double spare = b - a < 0.02 ? 0.15 : room * (b - a);
    return {std::pow(10.0, std::max(a - spare, -307.0)), std::pow(10.0, std::min(b + spare, 307.0)),
            true};
  }
  const double size = std::max(std::abs(span.low), std::abs(span.high));
  if (size < kSmallest) return {0, 1, false};
  const double wide = span.high - span.low;
  const double spare = wide < kFinest * size ? 0.1 * size : room * wide;
  const bool from_zero =
      to_zero && span.low >= 0 && (span.low < 0.2 * span.high || span.low < spare);
  const bool up_to_zero =
      to_zero && span.high <= 0 && (span.high > 0.2 * span.low || -span.high < spare);
  return {from_zero ? 0.0 : span.low - spare, up_to_zero ? 0.0 : span.high + spare, false};
}

Ticks ticks_of(const Span& span, std::size_t most, bool whole) {
  return span.log ? log_ticks(span, std::max<std::size_t>(most, 2))
                  : linear_ticks(span, most, whole);
}

std::string power_of_ten(int exponent) {
  constexpr const char* kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char c : std::to_string(std::abs(exponent))) text += kRaised[c - '0'];
  return text;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "not a number" : value > 0 ? "∞" : "−∞";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e6) {
    const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
    const std::string factor = fmt::format("{:.3g}", value / std::pow(10.0, exponent));
    return fmt::format("{}·{}", grouped(factor), power_of_ten(exponent));
  }
  return grouped(fmt::format("{:.{}f}", value,
                             std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 5)));
}

std::string axis_text(const Axis& axis, int exponent) {
  std::string unit = exponent != 0 ? power_of_ten(exponent) : "";
  if (!axis.unit.empty()) unit += (unit.empty() ? "" : " ") + axis.unit;
  if (unit.empty()) return axis.label;
  return axis.label.empty() ? unit : fmt::format("{} ({})", axis.label, unit);
}

}  // namespace stap
