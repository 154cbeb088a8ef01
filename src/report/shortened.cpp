#include "report/shortened.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stap {

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::vector<std::size_t> starts;  // of characters
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) starts.push_back(i);
  if (starts.size() <= most) return std::string(text);
  const std::size_t behind = (most - 1) / 2, before = most - 1 - behind;
  return std::string(text.substr(0, starts[before])) + "…" +
         std::string(text.substr(starts[starts.size() - behind]));
}

std::string count_text(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::ptrdiff_t kMost = 12;
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  if (std::ssize(names) > kMost)
    return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMost, ", "),
                       std::ssize(names) - kMost);
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::string grouped_digits(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t at = digits.size(); at > 3 && at <= digits.size(); at -= 3)
    if (at - 3 > 0) digits.insert(at - 3, ",");
  return digits;
}

bool same_error(double a, double b) {
  return std::abs(a - b) <= 0.005 * std::max(std::abs(a), std::abs(b)) ||
         fmt::format("{:.3g}", a) == fmt::format("{:.3g}", b);
}

}  // namespace stap
