#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stap/report/chart.h"

namespace stap {

/// What an axis shows: from low to high, low < high, both finite and, on a logarithmic one, above
/// 0.
struct Span {
  double low = 0, high = 1;
  bool log = false;

  /// Where a value lies, 0 at low and 1 at high; only of values that shows() accepts.
  double part(double value) const;
};

/// Whether an axis can show a value at all.
bool can_show(double value, bool log);
/// The span of values (those that can be shown), with room around them, widened where they are all
/// the same; `to_zero`: one of sizes begins at 0 if that is not far. Of none: 0 to 1, or 0.1 to 1.
Span span_of(const std::vector<double>& values, bool log, double room, bool to_zero);

struct Ticks {
  std::vector<double> major, minor;  ///< within the span, ascending
  std::vector<std::string> labels;   ///< of the major ones
  int exponent = 0;                  ///< labels are to be multiplied by 10 to this power
};
/// About `most` major ticks at the most: multiples of 1, 2 or 5 times a power of ten; on a
/// logarithmic axis powers of ten, or 1, 2, 5 and so on of them where there are too few.
Ticks ticks_of(const Span& span, std::size_t most, bool whole = false);

/// "10⁻³".
std::string power_of_ten(int exponent);
/// Three digits: "0.0123", "1.23·10⁻⁷", "12 300".
std::string number_text(double value);
/// "label (10³ unit)".
std::string axis_text(const Axis& axis, int exponent);

}  // namespace stap
