#include "duration.h"

#include <exception>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::app {

std::string complaint_if_empty(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

std::optional<double> seconds_of(const std::string& text, const std::string& option) {
  if (text.empty()) return std::nullopt;
  double number = 0;
  std::size_t used = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double factor = unit.empty() || unit == "s" ? 1.0
                        : unit == "m"               ? 60.0
                        : unit == "h"               ? 3600.0
                                                    : 0.0;
  constexpr double kLongest = 1e9;  // 30 years, which clocks can add
  if (used == 0 || factor == 0.0 || !(number > 0 && number * factor <= kLongest))
    throw Error(ErrorKind::config,
                fmt::format("{} '{}', expected a time such as 90s, 9m or 1.5h", option, text));
  return number * factor;
}

std::string duration_text(double seconds) {
  return seconds < 100    ? fmt::format("{:.0f} s", seconds)
         : seconds < 6000 ? fmt::format("{:.0f} min", seconds / 60)
                          : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace stap::app
